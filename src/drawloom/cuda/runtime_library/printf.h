// What a kernel hands to vprintf, a format and a block of arguments, to text.
#pragma once
#include <string>

namespace drawloom {

// Appends the text to `out`; returns the number of arguments, as the device's printf does. The block has each argument
// at its natural alignment: int in 4 bytes, long, pointers and double in 8 (CUDA C++ Programming Guide, "Formatted
// Output").
int format_block(std::string &out, const char *pattern, const char *arguments);

}  // namespace drawloom
