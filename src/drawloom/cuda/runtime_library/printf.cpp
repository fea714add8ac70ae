// One conversion at a time: its text goes to the C library's snprintf with the argument that it reads from the block.
#include "printf.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace drawloom {
namespace {

class Block {
 public:
  explicit Block(const char *bytes) : bytes_(bytes) {}
  template <class T> T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    memcpy(&value, bytes_ + at_, sizeof value);
    at_ += sizeof value;
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const char *bytes_;
  size_t at_ = 0;
  int count_ = 0;
};

template <class T> void append(std::string &out, const std::string &conversion, T value) {
  int length = snprintf(nullptr, 0, conversion.c_str(), value);
  if (length <= 0) return;
  size_t before = out.size();
  out.resize(before + size_t(length) + 1);
  snprintf(&out[before], size_t(length) + 1, conversion.c_str(), value);
  out.pop_back();
}

bool one_of(char letter, const char *letters) { return letter && strchr(letters, letter); }

// A width or precision: digits as they stand, `*` as the number that the block has for it.
const char *count(std::string &conversion, const char *at, Block &block) {
  if (*at == '*') {
    conversion += std::to_string(block.next<int32_t>());
    return at + 1;
  }
  while (*at >= '0' && *at <= '9') conversion += *at++;
  return at;
}

}  // namespace

int format_block(std::string &out, const char *pattern, const char *arguments) {
  Block block(arguments);
  for (const char *at = pattern; *at;) {
    if (*at != '%') {
      out += *at++;
      continue;
    }
    if (at[1] == '%') {
      out += '%';
      at += 2;
      continue;
    }
    std::string conversion = "%";
    const char *end = at + 1;
    Block ahead = block;  // a conversion that is none reads nothing
    while (one_of(*end, "-+ #0")) conversion += *end++;
    end = count(conversion, end, ahead);
    if (*end == '.' && end[1] == '*') {
      int32_t precision = ahead.next<int32_t>();
      if (precision >= 0) conversion += '.' + std::to_string(precision);  // a negative one counts as none
      end += 2;
    } else if (*end == '.') {
      conversion += *end++;
      end = count(conversion, end, ahead);
    }
    std::string length;
    while (one_of(*end, "hljztLq")) length += *end++;
    char letter = *end;
    bool wide = length == "l" || length == "ll" || length == "j" || length == "z" || length == "t" || length == "q";
    if (one_of(letter, "diouxX")) {
      if (wide)
        append(out, conversion + "ll" + letter, ahead.next<long long>());
      else
        append(out, conversion + (length == "h" || length == "hh" ? length : "") + letter, ahead.next<int>());
    } else if (letter == 'c') {
      append(out, conversion + 'c', ahead.next<int>());
    } else if (one_of(letter, "eEfFgGaA")) {
      append(out, conversion + letter, ahead.next<double>());
    } else if (letter == 's') {
      const char *text = ahead.next<const char *>();
      append(out, conversion + 's', text ? text : "(null)");
    } else if (letter == 'p') {
      append(out, conversion + 'p', ahead.next<void *>());
    } else {
      out += *at++;
      continue;
    }
    block = ahead;
    at = end + 1;
  }
  return block.count();
}

}  // namespace drawloom
