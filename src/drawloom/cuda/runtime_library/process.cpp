// One state for all copies of this library in a process: the dynamic linker binds a symbol of kind "unique" to one place,
// also for libraries that do not see each other's symbols (System V ABI, GNU extension STB_GNU_UNIQUE).
#include "process.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define PROCESS TEXT(DL_PROCESS)  // a name for each version of the library

__asm__(".pushsection .bss." PROCESS ",\"aw\",@nobits\n"
        ".balign 8\n"
        ".type " PROCESS ",@gnu_unique_object\n"
        ".size " PROCESS ",8\n" PROCESS ":\n"
        ".zero 8\n"
        ".popsection\n");
extern "C" __attribute__((visibility("default"))) drawloom::Process *DL_PROCESS;

namespace drawloom {

static Thread &own_thread() {
  static thread_local Thread one;
  return one;
}

Process &process() {
  Process *found = __atomic_load_n(&DL_PROCESS, __ATOMIC_ACQUIRE);
  if (found) return *found;
  Process *made = new Process;
  made->thread = own_thread;
  if (__atomic_compare_exchange_n(&DL_PROCESS, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return *made;
  delete made;  // another thread was first
  return *found;
}

}  // namespace drawloom
