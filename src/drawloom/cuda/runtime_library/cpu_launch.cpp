// From a launch to the calls of compiled code, and from the words that it leaves behind to an error code and a report.
// The record's words and what they mean are those of the compiler's cpu/abi.py.
#include "cpu_launch.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include "cpu_pool.h"
#include "printf.h"

extern "C" {
void dl_run(void *launch, void *spins);
int dl_guard(void *record, void *function, void *a, void *b);
void *dl_record(void);
int dl_armed(int signal);
void dl_arm(int signal, int again);
int dl_claim(void *error, int64_t code, void *cancel);
void dl_unchecked(void);
}

namespace drawloom {
namespace {

constexpr int64_t kChunk = 4096;  // blocks that a worker takes at a time, at most
constexpr int64_t kSlotsWhenSpinning = 1024;
constexpr int64_t kSlotBudgetBytes = 96 << 20;
constexpr int kWordsApart = 16;  // workers count in cache lines of their own
constexpr double kSpinLimitSeconds = 10;
// What another thread must have to do to be worth waking it, which takes some 10 microseconds, and as many again until
// it runs.
constexpr float kWorthAWorkerNanoseconds = 25000;
constexpr unsigned kDefaultMxcsr = 0x1f80;  // round to nearest, keep subnormals, no exceptions
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// The words of a thread's record that describe the signal it raised.
struct Raised {
  int64_t number, code, address, trap, error, depth;
  int64_t block;
};
constexpr int kFirstWord = 3;
constexpr int64_t kPageFault = 14, kWrites = 2, kNearStack = 64 << 10;

int64_t threads_of(const Launch &l) {
  return int64_t(l.grid.x) * l.grid.y * l.grid.z * l.block.x * l.block.y * l.block.z;
}

int64_t align_up(int64_t offset, int64_t alignment) { return (offset + alignment - 1) & -alignment; }

std::string format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

struct Three {
  unsigned x, y, z;
};

Three split(int64_t number, dim3 extent) {
  return {unsigned(number % extent.x), unsigned(number / extent.x % extent.y),
          unsigned(number / (int64_t(extent.x) * extent.y))};
}

// Slots of the blocks in flight: kept from launch to launch, as touching fresh pages costs more than most kernels.
class Scratch {
 public:
  char *take(size_t bytes) {
    if (bytes > size_) {
      if (memory_) munmap(memory_, size_);
      size_ = align_up(bytes, 2 << 20);
      void *memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      memory_ = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
      if (!memory_) size_ = 0;
    }
    return memory_;
  }

 private:
  char *memory_ = nullptr;
  size_t size_ = 0;
};

Pool &pool() {
  static Pool *one = new Pool;  // never destroyed: its threads may be at work when the program ends
  return *one;
}
Scratch scratch;
const Launch *current;

// The stack of kernels that threads of the program run, one at a time; null where there is no memory for it.
char *shared_stack_top() {
  static char *top = [] {
    void *memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return static_cast<char *>(nullptr);
    mprotect(memory, 4096, PROT_NONE);  // what lies below may be anybody's
    return static_cast<char *>(memory) + kStackBytes;
  }();
  return top;
}

// Calls a function with the stack that ends at `top`, a multiple of 16.
__attribute__((noinline)) void call_on(char *top, void (*function)(void *), void *argument) {
  __asm__ volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument)
      : [top] "r"(top), [function] "r"(function)
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

class Heap {
 public:
  void limit(size_t bytes) { limit_ = bytes; }
  Range range() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!memory_) {
      void *memory = mmap(nullptr, limit_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      memory_ = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
      size_ = memory_ ? limit_ : 0;
    }
    return {reinterpret_cast<uint64_t>(memory_), size_};
  }
  // From the arena where accesses are checked; it is not used twice, so what is freed stays wrong to use.
  void *take(size_t bytes, bool checked) {
    if (!checked) return std::aligned_alloc(16, align_up(std::max<size_t>(bytes, 1), 16));
    std::lock_guard<std::mutex> lock(mutex_);
    size_t wanted = align_up(bytes + 16, 16);
    if (!memory_ || wanted < bytes || used_ + wanted > size_) return nullptr;
    char *found = memory_ + used_;
    used_ += wanted;
    return found;
  }
  void give(void *memory) {
    char *place = static_cast<char *>(memory);
    if (memory_ && place >= memory_ && place < memory_ + size_) return;
    std::free(memory);
  }

 private:
  std::mutex mutex_;
  char *memory_ = nullptr;
  size_t size_ = 0, used_ = 0, limit_ = 8 << 20;  // the interface's default of cudaLimitMallocHeapSize
} heap;
std::atomic<bool> checking;

int64_t on_printf(int64_t pattern, int64_t arguments, int64_t, int64_t, int64_t, int64_t) {
  std::string text;
  int count = format_block(text, reinterpret_cast<const char *>(pattern), reinterpret_cast<const char *>(arguments));
  fwrite(text.data(), 1, text.size(), stdout);
  return count;
}

int64_t on_assert(int64_t message, int64_t file, int64_t line, int64_t function, int64_t block, int64_t thread) {
  Three b = split(block, current->grid), t = split(thread, current->block);
  fflush(stdout);
  fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
          reinterpret_cast<const char *>(file), unsigned(line), reinterpret_cast<const char *>(function), b.x, b.y, b.z,
          t.x, t.y, t.z, reinterpret_cast<const char *>(message));
  return 0;
}

int64_t on_malloc(int64_t size, int64_t, int64_t, int64_t, int64_t, int64_t) {
  return reinterpret_cast<int64_t>(heap.take(size_t(size), checking));
}

int64_t on_free(int64_t memory, int64_t, int64_t, int64_t, int64_t, int64_t) {
  heap.give(reinterpret_cast<void *>(memory));
  return 0;
}

// The variant for blocks of this shape: one for just this shape, else that of its layout, else the one for all.
const Variant *variant_for(const Kernel &kernel, dim3 block, bool checked) {
  int64_t layout = LAYOUT_general;
  if (block.y == 1 && block.z == 1)
    layout = LAYOUT_linear;
  else if (block.x % WARP == 0)
    layout = LAYOUT_rows32;
  else if (block.x == 16 || block.x == 8)
    layout = block.x == 16 ? LAYOUT_rows16 : LAYOUT_rows8;
  const Variant *named = nullptr, *other = nullptr;
  for (int64_t i = 0; i < kernel.variant_count; ++i) {
    const Variant &v = static_cast<const Variant *>(kernel.variants)[i];
    if (bool(v.checked) != checked) continue;
    if (!v.layout && v.x == block.x && v.y == block.y && v.z == block.z) return &v;
    if (v.layout == layout) named = &v;
    if (v.layout == LAYOUT_gang || v.layout == LAYOUT_general) other = &v;
  }
  return named ? named : other;
}

class Run {
 public:
  Run(const Launch &launch, const Variant &variant, const std::vector<char> &parameters, char *base,
      std::vector<Range> *ranges)
      : launch_(launch), variant_(variant) {
    int64_t threads = int64_t(launch.block.x) * (variant.alike ? 1 : int64_t(launch.block.y) * launch.block.z);
    blocks_ = int64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    int64_t rows = variant.gang ? threads / launch.block.x : 1;
    int64_t row_units = (threads / rows + variant.lanes - 1) / variant.lanes;
    int64_t units = row_units * rows;
    int64_t shared = variant.shared_bytes + int64_t(launch.dynamic_shared);
    int64_t stride = align_up(8 * STATE_FRAME + variant.frame_bytes, 64);
    int64_t states = align_up(8 * SLOT_WORDS, 64);
    int64_t shared_at = align_up(states + (variant.resumable ? units * stride : 0), 128);
    int64_t local_at = align_up(shared_at + shared, LOCAL_ALIGNMENT);
    slot_bytes_ = align_up(local_at + (variant.local_bytes + variant.thread_bytes) * units * variant.lanes, 4096) + 128;
    if (variant.spins)
      slots_ = std::max<int64_t>(1, std::min({kSlotsWhenSpinning, blocks_, kSlotBudgetBytes / slot_bytes_}));
    word(LAUNCH_PARAMS, parameters.data());
    word(LAUNCH_IMAGE, base);
    const unsigned grid[] = {launch.grid.x, launch.grid.y, launch.grid.z};
    const unsigned block[] = {launch.block.x, launch.block.y, launch.block.z};
    for (int i = 0; i < 3; ++i) {
      record_[LAUNCH_GRID + i] = grid[i];
      record_[LAUNCH_BLOCK + i] = block[i];
    }
    record_[LAUNCH_THREADS] = threads;
    record_[LAUNCH_UNITS] = units;
    record_[LAUNCH_ROW_UNITS] = row_units;
    record_[LAUNCH_SHARED] = shared;
    record_[LAUNCH_DYNAMIC] = int64_t(launch.dynamic_shared);
    record_[LAUNCH_BLOCKS] = blocks_;
    record_[LAUNCH_LOCAL] = variant.local_bytes;
    record_[LAUNCH_STATE_STRIDE] = stride;
    ranges_ = ranges;
    word(LAUNCH_BUFFERS, ranges ? ranges->data() : nullptr);
    record_[LAUNCH_BUFFER_COUNT] = ranges ? int64_t(ranges->size()) : 0;
    word(LAUNCH_PRINTF, reinterpret_cast<void *>(on_printf));
    word(LAUNCH_ASSERT, reinterpret_cast<void *>(on_assert));
    word(LAUNCH_MALLOC, reinterpret_cast<void *>(on_malloc));
    word(LAUNCH_FREE, reinterpret_cast<void *>(on_free));
    record_[LAUNCH_SLOT_STRIDE] = slot_bytes_;
    record_[LAUNCH_SLOT_STATES] = states;
    record_[LAUNCH_SLOT_SHARED] = shared_at;
    record_[LAUNCH_SLOT_LOCAL] = local_at;
    record_[LAUNCH_LANES] = variant.lanes;
    word(LAUNCH_KERNEL, variant.kernel);
    word(LAUNCH_RESOLVE, variant.resolve);
  }

  // False where there is no memory for the blocks in flight.
  bool start(Stack stack) {
    int64_t most = settings().races ? 1 : std::min<int64_t>(Pool::cores(), blocks_);
    float known = nanoseconds_known();
    if (known >= 0) most = std::min<int64_t>(most, 1 + int64_t(std::min(known / kWorthAWorkerNanoseconds, 1e6f)));
    int workers = int(std::max<int64_t>(1, most));
    record_[LAUNCH_CHUNK] =
        variant_.resumable ? 1 : std::max<int64_t>(1, std::min(kChunk, blocks_ / (int64_t(workers) * 16)));
    int64_t slots = std::max<int64_t>(workers, slots_);
    char *memory = scratch.take(size_t(slots * slot_bytes_ + SLOT_MARGIN + LOCAL_ALIGNMENT));
    if (!memory) return false;
    slot_base_ = reinterpret_cast<char *>(align_up(reinterpret_cast<int64_t>(memory), LOCAL_ALIGNMENT));
    for (int64_t s = 0; s < slots; ++s) memset(slot_base_ + s * slot_bytes_, 0, 8 * SLOT_WORDS);
    record_[LAUNCH_SLOTS] = slots;
    word(LAUNCH_SLOT_BASE, slot_base_);
    if (settings().races && ranges_ && !watch_for_races(slots)) return false;
    spins_.assign(size_t(workers) * kWordsApart, 0);
    seen_spins_.assign(size_t(workers), 0);
    since_ = std::chrono::steady_clock::now();
    arm();
    if (!record_[LAUNCH_BUFFERS]) dl_unchecked();
    if (stack == Stack::shared) {
      call_on(shared_stack_top(), [](void *run) { static_cast<Run *>(run)->work(0); }, this);
    } else {
      std::function<void()> look;
      if (variant_.spins) look = [this] { watch(); };
      pool().run(workers, [this](int index) { work(index); }, look);
    }
    launch_.function->nanoseconds_per_thread = float(double(busy_) / double(threads_of(launch_)));
    return true;
  }

  ~Run() {
    if (cells_) munmap(cells_, cell_bytes_);
  }

  const int64_t *record() const { return record_; }
  const Raised &raised() const { return raised_; }

 private:
  // Cells for each word of memory, all 0; those of pages that nobody touches cost nothing. False for no address space.
  bool watch_for_races(int64_t slots) {
    auto cells_of = [](uint64_t begin, uint64_t size) {
      return size ? ((begin + size - 1) / 4 - begin / 4 + 1) * uint64_t(RACE_CELL_BYTES) : 0;
    };
    uint64_t block = uint64_t(RACE_BLOCK_BYTES) + cells_of(0, uint64_t(record_[LAUNCH_SHARED]));
    cell_bytes_ = block * uint64_t(slots);
    for (const Range &range : *ranges_) cell_bytes_ += cells_of(range.begin, range.size);
    void *memory =
        mmap(nullptr, cell_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    cells_ = memory;
    word(LAUNCH_RACES, memory);
    record_[LAUNCH_RACES_STRIDE] = int64_t(block);
    record_[LAUNCH_TIME] = 1;
    uint64_t next = reinterpret_cast<uint64_t>(memory) + block * uint64_t(slots);
    for (Range &range : *ranges_) {
      range.cells = next;
      next += cells_of(range.begin, range.size);
    }
    return true;
  }

  void word(int at, const void *pointer) { record_[at] = reinterpret_cast<int64_t>(pointer); }

  // Makes the handlers of the signals that kernels raise ours; others may have installed theirs since.
  static void arm() {
    static int again = 0;
    if (dl_armed(SIGSEGV)) return;
    for (int number : kSignals) dl_arm(number, again);
    again = 1;
  }

  // The processor time that such a launch took last, in proportion to its threads.
  float nanoseconds_known() const { return launch_.function->nanoseconds_per_thread * float(threads_of(launch_)); }

  void work(int index) {
    auto begin = std::chrono::steady_clock::now();
    unsigned before = _mm_getcsr();
    _mm_setcsr(kDefaultMxcsr);  // whatever the program's own arithmetic has
    work_guarded(index);
    _mm_setcsr(before);
    busy_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  }

  void work_guarded(int index) {
    static thread_local void *mine = dl_record();
    bool stops = variant_.kernel != nullptr;
    char *slot = slot_base_ + index * slot_bytes_;
    int64_t *counts = &spins_[size_t(index) * kWordsApart];
    void *function = stops ? reinterpret_cast<void *>(dl_run) : const_cast<void *>(variant_.worker);
    void *spot = stops ? static_cast<void *>(counts) : slot;
    if (!dl_guard(mine, function, record_, spot)) return;
    if (stops) slot = reinterpret_cast<char *>(counts[1]);
    if (dl_claim(&record_[LAUNCH_ERROR], ERROR_SIGNAL, &record_[LAUNCH_CANCEL])) {
      memcpy(&raised_, static_cast<int64_t *>(mine) + kFirstWord, sizeof raised_ - sizeof raised_.block);
      raised_.block = reinterpret_cast<int64_t *>(slot)[SLOT_BLOCK];
    }
  }

  // A launch in which, look after look, every worker has spun again and nothing else has moved is a deadlock.
  void watch() {
    auto load = [](int64_t &place) { return __atomic_load_n(&place, __ATOMIC_RELAXED); };
    int64_t seen = load(record_[LAUNCH_NEXT]);
    for (int64_t s = 0; s < record_[LAUNCH_SLOTS]; ++s)
      seen += load(reinterpret_cast<int64_t *>(slot_base_ + s * slot_bytes_)[SLOT_PROGRESS]);
    bool stuck = seen == progress_;
    for (size_t w = 0; w < seen_spins_.size(); ++w) {
      int64_t now = load(spins_[w * kWordsApart]);
      stuck = stuck && (now < 0 || now != seen_spins_[w]);
      seen_spins_[w] = now;
    }
    progress_ = seen;
    auto now = std::chrono::steady_clock::now();
    if (!stuck) since_ = now;
    if (std::chrono::duration<double>(now - since_).count() <= kSpinLimitSeconds) return;
    int64_t none = 0;
    __atomic_compare_exchange_n(&record_[LAUNCH_ERROR], &none, int64_t(ERROR_SPIN), false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    __atomic_store_n(&record_[LAUNCH_CANCEL], int64_t(1), __ATOMIC_SEQ_CST);
  }

  const Launch &launch_;
  const Variant &variant_;
  alignas(64) int64_t record_[LAUNCH_WORDS] = {};
  std::vector<int64_t> spins_, seen_spins_;
  char *slot_base_ = nullptr;
  std::vector<Range> *ranges_ = nullptr;
  void *cells_ = nullptr;
  uint64_t cell_bytes_ = 0;
  int64_t slot_bytes_ = 0, slots_ = 1, blocks_ = 0, progress_ = -1;
  std::chrono::steady_clock::time_point since_;
  std::atomic<int64_t> busy_{0};  // nanoseconds of all workers
  Raised raised_ = {};
};

struct Outcome {
  int64_t error;
  cudaError_t code;
  const char *what;
};
constexpr Outcome kOutcomes[] = {
    {ERROR_TRAP, cudaErrorLaunchFailure, "the kernel executed trap"},
    {ERROR_ASSERT, cudaErrorAssert, "an assertion failed"},
    {ERROR_BOUNDS, cudaErrorIllegalAddress, "access outside every allocation"},
    {ERROR_ALIGNMENT, cudaErrorMisalignedAddress, "misaligned access"},
    {ERROR_BARRIER, cudaErrorLaunchTimeout, "deadlock: a barrier waits for warps that never reach it"},
    {ERROR_CALL, cudaErrorInvalidPc, "indirect call to an address that is no function"},
    {ERROR_SPIN, cudaErrorLaunchTimeout, "deadlock: every block only spins, and nothing else has moved for 10 s"},
    {ERROR_BARRIER_ID, cudaErrorIllegalInstruction, "barrier number is over 15"},
    {ERROR_DIVERGED, cudaErrorLaunchTimeout,
     "deadlock: lanes that a member mask names never come, or the mask leaves out its own lane"},
    {ERROR_APART, cudaErrorLaunchTimeout,
     "lanes that a member mask names wait elsewhere, out of a function that is recursive or called indirectly"},
    {ERROR_STACK, cudaErrorHardwareStackError, "stack overflow: device functions call each other too deeply"},
    {ERROR_BRKPT, cudaErrorLaunchFailure, "the kernel stopped at brkpt: there is no debugger"},
    {ERROR_LOCAL, cudaErrorHardwareStackError, "stack overflow: alloca takes more than a thread has"},
    {ERROR_RACE, cudaErrorLaunchFailure, "data race"},
    {ERROR_RESTORE, cudaErrorLaunchFailure, "stackrestore to an address that stacksave did not give"},
};

// The line of the source that a position in the PTX comes from; empty where that is not known.
std::string source_line(const Image &image, int64_t position) {
  const Line *lines = static_cast<const Line *>(image.lines);
  const Line *after = std::upper_bound(lines, lines + image.line_count, position,
                                       [](int64_t at, const Line &line) { return at < line.position; });
  if (after == lines || !after[-1].line) return "";
  return format(" at %s:%d", static_cast<const char *const *>(image.files)[after[-1].file], int(after[-1].line));
}

// What two accesses did to each other; where the later one was is told behind it.
std::string race_of(const int64_t *record, const Launch &launch, const Image &image) {
  int64_t access = record[LAUNCH_OTHER_ACCESS];
  const char *now = access & RACE_NOW_WRITES ? "written" : "read", *then = access & RACE_THEN_WROTE ? "written" : "read";
  Three b = split(record[LAUNCH_OTHER_BLOCK], launch.grid), t = split(record[LAUNCH_OTHER_THREAD], launch.block);
  std::string place = format(access & RACE_IN_SHARED ? "at byte %lld of shared memory" : "at 0x%llx",
                             static_cast<unsigned long long>(record[LAUNCH_ERROR_ADDRESS]));
  return format(": %d bytes %s were %s by block (%u, %u, %u), thread (%u, %u, %u)", int(record[LAUNCH_ERROR_SIZE]),
                place.c_str(), then, b.x, b.y, b.z, t.x, t.y, t.z) +
         source_line(image, record[LAUNCH_OTHER_POS]) +
         format(", and are %s, unordered by any barrier,", now);
}

Fault fault_of(const Run &run, const Launch &launch, std::string (*explain)(uint64_t), bool checked) {
  const int64_t *record = run.record();
  const Image &image = checked ? *launch.function->program->checked : *launch.function->program->image;
  int64_t error = record[LAUNCH_ERROR];
  Fault fault;
  if (!error) return fault;
  fault.code = cudaErrorUnknown;
  std::string what = format("error %d", int(error)), where;
  bool known_thread = true;
  int64_t block = record[LAUNCH_ERROR_BLOCK];
  for (const Outcome &outcome : kOutcomes) {
    if (outcome.error != error) continue;
    fault.code = outcome.code;
    what = outcome.what;
  }
  if (error == ERROR_BOUNDS || error == ERROR_ALIGNMENT) {
    uint64_t address = uint64_t(record[LAUNCH_ERROR_ADDRESS]);
    what += format(", %d bytes at 0x%llx", int(record[LAUNCH_ERROR_SIZE]), static_cast<unsigned long long>(address));
    if (error == ERROR_BOUNDS) what += explain(address);
  }
  if (error == ERROR_RACE) what += race_of(record, launch, image);
  if (error == ERROR_SIGNAL) {
    const Raised &raised = run.raised();
    known_thread = false;
    block = raised.block;
    bool memory = raised.number == SIGSEGV || raised.number == SIGBUS;
    bool located = raised.number == SIGBUS || (memory && raised.trap == kPageFault);
    bool overflow = located && std::abs(raised.depth) < kNearStack;
    fault.code = overflow ? cudaErrorHardwareStackError
                 : memory ? cudaErrorIllegalAddress
                          : cudaErrorIllegalInstruction;
    what = overflow  ? "stack overflow: device functions call each other too deeply"
           : located ? format("%s %s memory at 0x%llx", raised.error & kWrites ? "write to" : "read from",
                              raised.code == SEGV_ACCERR ? "read-only" : "unmapped",
                              static_cast<unsigned long long>(raised.address)) +
                           explain(uint64_t(raised.address))
           : memory  ? "access to an address that is misaligned, or that no memory can have"
                     : "an illegal instruction or arithmetic exception";
    if (memory && !overflow && !checked) what += "; DRAWLOOM_CHECK=memory finds the line";
  } else {
    where = source_line(image, record[LAUNCH_ERROR_POS]);
  }
  Three b = split(block, launch.grid);
  fault.report = "kernel " + readable_name(launch.function->name) + ": " + what +
                 format(" in block (%u, %u, %u)", b.x, b.y, b.z);
  if (known_thread && error != ERROR_SPIN) {
    Three t = split(record[LAUNCH_ERROR_THREAD], launch.block);
    fault.report += format(", thread (%u, %u, %u)", t.x, t.y, t.z);
  }
  fault.report += where;
  return fault;
}

}  // namespace

std::string readable_name(const std::string &name) {
  int status = 0;
  char *readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? readable : name;
  free(readable);
  return text;
}

std::mutex &cores_mutex() {
  static std::mutex running;
  return running;
}

bool is_brief(const Launch &launch) {
  float known = launch.function->nanoseconds_per_thread;
  if (known < 0 || known * float(threads_of(launch)) > kWorthAWorkerNanoseconds || !shared_stack_top()) return false;
  const Variant *variant = variant_for(*launch.function->kernel, launch.block, false);
  return !variant->spins;
}

Range device_heap() { return heap.range(); }
void limit_device_heap(size_t bytes) { heap.limit(bytes); }

Fault run_kernel(const Launch &launch, const std::vector<char> &parameters, char *base,
                 std::vector<Range> *ranges, std::string (*explain)(uint64_t address), Stack stack) {
  const Kernel &kernel = ranges ? *launch.function->checked : *launch.function->kernel;
  const Variant *variant = variant_for(kernel, launch.block, ranges != nullptr);
  current = &launch;
  checking = ranges != nullptr;
  Run run(launch, *variant, parameters, base, ranges);
  if (!run.start(stack)) return {cudaErrorMemoryAllocation, "no memory for the blocks of a launch"};
  return fault_of(run, launch, explain, ranges != nullptr);
}

}  // namespace drawloom
