// What a program's user chooses through the environment when it runs.
#pragma once
#include <string>

namespace drawloom {

struct Settings {
  std::string device;      // "cpu" or "cuda"; "" for GPUs where a driver answers, else the CPU
  int device_index = -1;   // of the one GPU that is chosen
  int threads = 0;         // at most so many for a launch; 0: one for each core
  bool checked = false;    // accesses to memory are
  bool races = false;      // and races are looked for
  bool by_driver = false;  // the driver compiles the PTX, not our assembler
  bool blocking = false;   // every call waits for what it started
  bool understood = true;  // false: something has a value that it cannot have, and standard error says so
};

// Read once, at the first use.
const Settings &settings();

}  // namespace drawloom
