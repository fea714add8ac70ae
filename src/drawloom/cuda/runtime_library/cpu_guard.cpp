// Pages that no one may access until somebody waits, and a handler that reports the access that comes all the same and
// lets it pass.
#include "cpu_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>

namespace drawloom {
namespace {

constexpr int kMostRanges = 1024;  // more than these at a time are not watched
constexpr uint64_t kPage = 4096;

struct Watched {
  volatile uint64_t begin, end;  // 0, 0: free
  Use use;
  cudaStream_t stream;
  char work[128];  // what uses it
};
Watched watched[kMostRanges];
const char *const kPatterns[] = {
    "drawloom: the host accesses memory at 0x%llx before anything waited for %s, which uses it\n",
    "drawloom: the host accesses memory at 0x%llx, which is the device's%s\n",
    "drawloom: the host accesses memory at 0x%llx, which was freed%s\n",
};
std::mutex watching;
int opened;
struct sigaction earlier;

void protect(const Watched &one, int rights) {
  if (one.end) mprotect(reinterpret_cast<void *>(one.begin), one.end - one.begin, rights);
}

// The device's own accesses are let through, or no longer. It has none to freed memory.
void protect_all(int rights) {
  for (Watched &one : watched)
    if (one.use != Use::freed) protect(one, rights);
}

void on_access(int number, siginfo_t *info, void *context) {
  uint64_t at = reinterpret_cast<uint64_t>(info->si_addr);
  for (Watched &one : watched) {
    if (at < one.begin || at >= one.end) continue;
    char text[320];
    int length = snprintf(text, sizeof text, kPatterns[int(one.use)], static_cast<unsigned long long>(at), one.work);
    if (write(STDERR_FILENO, text, size_t(length)) < 0) _exit(1);
    protect(one, PROT_READ | PROT_WRITE);
    one.end = 0;
    return;
  }
  if (earlier.sa_flags & SA_SIGINFO) return earlier.sa_sigaction(number, info, context);
  if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(number);
  signal(number, SIG_DFL);  // the access is made again, and ends the program
}

// A place for one more range; where all are taken, freed memory gives way. Null for none.
Watched *place() {
  Watched *freed = nullptr;
  for (Watched &one : watched) {
    if (!one.end) return &one;
    if (one.use == Use::freed) freed = &one;
  }
  if (freed) protect(*freed, PROT_READ | PROT_WRITE);
  return freed;
}

}  // namespace

void InFlight::watch() {
  struct sigaction ours = {};
  ours.sa_sigaction = on_access;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &ours, &earlier);
}

void InFlight::add(Use use, uint64_t begin, uint64_t size, cudaStream_t stream, const char *work) {
  uint64_t first = (begin + kPage - 1) / kPage * kPage, end = (begin + size) / kPage * kPage;
  if (first >= end) return;
  std::lock_guard<std::mutex> lock(watching);
  Watched *one = place();
  if (!one) return;
  one->use = use;
  one->stream = stream;
  snprintf(one->work, sizeof one->work, "%s", work);
  one->begin = first;
  one->end = end;
  if (!opened || use == Use::freed) protect(*one, PROT_NONE);
}

void InFlight::forget(uint64_t begin) {
  std::lock_guard<std::mutex> lock(watching);
  for (Watched &one : watched) {
    if (!one.end || one.begin != begin) continue;
    protect(one, PROT_READ | PROT_WRITE);
    one.end = 0;
  }
}

void InFlight::settle(cudaStream_t stream) {
  std::lock_guard<std::mutex> lock(watching);
  for (Watched &one : watched) {
    if (!one.end || one.use != Use::work || one.stream != stream) continue;
    protect(one, PROT_READ | PROT_WRITE);
    one.end = 0;
  }
  if (opened) return;
  protect_all(PROT_NONE);  // other streams may use the same pages
}

void InFlight::settle() {
  std::lock_guard<std::mutex> lock(watching);
  for (Watched &one : watched) {
    if (one.use != Use::work) continue;
    protect(one, PROT_READ | PROT_WRITE);
    one.end = 0;
  }
}

void InFlight::open() {
  std::lock_guard<std::mutex> lock(watching);
  if (opened++ == 0) protect_all(PROT_READ | PROT_WRITE);
}

void InFlight::close() {
  std::lock_guard<std::mutex> lock(watching);
  if (--opened == 0) protect_all(PROT_NONE);
}

}  // namespace drawloom
