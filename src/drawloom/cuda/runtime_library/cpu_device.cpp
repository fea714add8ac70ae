// This machine's cores as a device: allocations that are known by their ranges, work that streams do, and
// events in it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "checked_code.h"
#include "cpu_guard.h"
#include "cpu_launch.h"
#include "cpu_pages.h"
#include "cpu_pool.h"
#include "cpu_streams.h"
#include "settings.h"

namespace drawloom {
namespace {

typedef std::chrono::steady_clock Clock;

// An event as it was recorded last: what comes before it, and when that was done.
struct Moment {
  Ticket ticket;
  std::shared_ptr<Clock::time_point> when;  // null: never recorded
};

}  // namespace
}  // namespace drawloom

struct CUevent_st {
  unsigned flags;
  drawloom::Moment moment;
  std::mutex mutex;

  drawloom::Moment last() {
    std::lock_guard<std::mutex> lock(mutex);
    return moment;
  }
};

namespace drawloom {
namespace {

using Event = std::shared_ptr<CUevent_st>;

constexpr size_t kGap = 4096;                          // between allocations while accesses are checked
constexpr size_t kKeptAfterFree = size_t(256) << 20;   // freed memory that is not used again, to tell late accesses
constexpr int kSharedPerBlock = 160 << 10;
constexpr size_t kBriefBytes = 64 << 10;               // moved sooner than a thread is woken

struct Allocation {
  size_t size;
  Memory kind;
  bool registered;  // the program's own memory, from cudaHostRegister
  const char *variable = nullptr;  // the name of what is no allocation

  std::string called() const {
    return (variable ? "variable " + readable_name(variable) : "an allocation") + " of " + std::to_string(size) + " bytes";
  }
};

size_t host_memory() { return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE)); }

// Why a program's kernels cannot run on this CPU, on standard error, once: many programs do not look at errors.
void tell_level(const Program &program) {
  static std::once_flag told;
  const char *level = level_of(program);
  if (!level) return;
  std::call_once(told, [&] {
    if (!strcmp(level, "none"))
      fprintf(stderr, "drawloom: kernels of this program have no code for CPUs (-march=none), and it runs on no GPU\n");
    else
      fprintf(stderr, "drawloom: kernels of this program are compiled for %s, which this CPU lacks\n", level);
  });
}

// All that was allocated and is not freed, by its first address; while accesses are checked also what was freed lately.
class Allocations {
 public:
  cudaError_t take(void **memory, size_t size, Memory kind, bool checked) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (size > host_memory() || used_ + size > host_memory()) return cudaErrorMemoryAllocation;
    void *found = checked ? std::aligned_alloc(kGap, (size + kGap - 1) / kGap * kGap + kGap)  // whole pages are watched
                          : pages_.take(size);
    if (!found) return cudaErrorMemoryAllocation;
    live_[address(found)] = {size, kind, false};
    used_ += size;
    *memory = found;
    return cudaSuccess;
  }

  cudaError_t give(void *memory, bool pinned, bool checked) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = live_.find(address(memory));
    if (found == live_.end() || found->second.registered || (found->second.kind == Memory::pinned) != pinned)
      return cudaErrorInvalidValue;
    used_ -= found->second.size;
    if (checked) {
      InFlight::forget(found->first);
      InFlight::add(Use::freed, found->first, found->second.size + kGap);
      freed_[found->first] = found->second.size;
      freed_bytes_ += found->second.size;
      live_.erase(found);
      while (freed_bytes_ > kKeptAfterFree) {
        auto oldest = freed_.begin();
        freed_bytes_ -= oldest->second;
        InFlight::forget(oldest->first);
        std::free(reinterpret_cast<void *>(oldest->first));
        freed_.erase(oldest);
      }
    } else {
      pages_.give(memory, found->second.size);
      live_.erase(found);
    }
    return cudaSuccess;
  }

  cudaError_t add(void *memory, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!live_.insert({address(memory), {size, Memory::pinned, true}}).second)
      return cudaErrorHostMemoryAlreadyRegistered;
    return cudaSuccess;
  }

  cudaError_t remove(void *memory) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = live_.find(address(memory));
    if (found == live_.end() || !found->second.registered) return cudaErrorHostMemoryNotRegistered;
    live_.erase(found);
    return cudaSuccess;
  }

  // A module's variable: memory of the device that nobody frees.
  void add_variable(void *memory, const Variable &variable) {
    std::lock_guard<std::mutex> lock(mutex_);
    live_[address(memory)] = {size_t(variable.size), Memory::device, true, static_cast<const char *>(variable.name)};
  }

  // The allocation that `memory` points into; false where there is none.
  bool find(const void *memory, uint64_t &begin, Allocation &out) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto after = live_.upper_bound(address(memory));
    if (after == live_.begin()) return false;
    --after;
    if (address(memory) - after->first >= std::max<size_t>(after->second.size, 1)) return false;
    begin = after->first;
    out = after->second;
    return true;
  }

  std::vector<Range> ranges() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Range> all;
    for (auto &one : live_) all.push_back({one.first, one.second.size});
    return all;
  }

  // What an address that is in no allocation is near to.
  std::string explain(uint64_t at) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto &one : freed_) {
      if (at - one.first >= one.second) continue;
      return ", use after free: " + std::to_string(at - one.first) + " bytes into an allocation of " +
             std::to_string(one.second) + " bytes that was freed";
    }
    auto after = live_.upper_bound(at);
    if (after != live_.begin()) {
      auto before = std::prev(after);
      uint64_t past = at - before->first - before->second.size;
      if (past < Pages::kSlack) {
        return ", " + std::to_string(past) + " bytes past the end of " + before->second.called();
      }
    }
    if (after == live_.end() || after->first - at >= Pages::kSlack) return "";
    return ", " + std::to_string(after->first - at) + " bytes before " + after->second.called();
  }

  size_t used() {
    std::lock_guard<std::mutex> lock(mutex_);
    return used_;
  }

  // Memory of a module's variables, for good.
  void *take_image(size_t size, size_t alignment) {
    std::lock_guard<std::mutex> lock(mutex_);
    return pages_.take(size, alignment);
  }

 private:
  static uint64_t address(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

  std::mutex mutex_;
  std::map<uint64_t, Allocation> live_;
  std::map<uint64_t, size_t> freed_;
  Pages pages_;
  size_t used_ = 0, freed_bytes_ = 0;
};

Allocations &allocations() {
  static Allocations *one = new Allocations;  // never destroyed: static destructors of programs free memory
  return *one;
}

std::string explain(uint64_t at) { return allocations().explain(at); }

// Where a program's variables stand, with the addresses of each other filled in.
char *variables_of(Program &program) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (program.variables) return program.variables;
  const Image &image = *program.image;
  size_t alignment = std::max<size_t>(size_t(image.align), Pages::kAlignment);
  char *base = static_cast<char *>(allocations().take_image(size_t(image.size), alignment));
  memcpy(base, image.bytes, size_t(image.size));
  const Relocation *relocations = static_cast<const Relocation *>(image.relocations);
  for (int64_t i = 0; i < image.relocation_count; ++i) {
    const Relocation &one = relocations[i];
    uint64_t value = reinterpret_cast<uint64_t>(base) + uint64_t(one.target);
    if (uint64_t mask = uint64_t(one.mask)) value = (value & mask) >> __builtin_ctzll(mask);
    memcpy(base + one.offset, &value, size_t(one.width));
  }
  const Variable *variables = static_cast<const Variable *>(image.variables);
  for (int64_t i = 0; i < image.variable_count; ++i)
    if (variables[i].size) allocations().add_variable(base + variables[i].offset, variables[i]);
  program.variables = base;
  return base;
}

class CpuDevice : public Device {
 public:
  // Checked work is done before a call returns, so that what the host does is told apart from what a kernel does.
  CpuDevice() : checked_(settings().checked), waits_(checked_ || settings().blocking) {
    if (checked_) InFlight::watch();
  }

  cudaError_t failure() override { return Streams::inside() ? cudaErrorNotPermitted : failed_.load(); }

  cudaError_t properties(cudaDeviceProp &out) override {
    out = {};
    snprintf(out.name, sizeof out.name, "Drawloom CPU device");
    out.totalGlobalMem = host_memory();
    out.sharedMemPerBlock = kStaticShared;
    out.sharedMemPerBlockOptin = out.sharedMemPerMultiprocessor = kSharedPerBlock;
    out.regsPerBlock = out.regsPerMultiprocessor = 65536;
    out.warpSize = WARP;
    out.memPitch = 2147483647;
    out.maxThreadsPerBlock = kMostThreads;
    std::copy(kMostBlock, kMostBlock + 3, out.maxThreadsDim);
    std::copy(kMostGrid, kMostGrid + 3, out.maxGridSize);
    out.clockRate = 1000000;
    out.totalConstMem = 64 << 10;
    out.major = 8;
    out.textureAlignment = 512;
    out.multiProcessorCount = Pool::cores();
    out.integrated = out.canMapHostMemory = out.concurrentKernels = out.unifiedAddressing = out.managedMemory = 1;
    out.memoryClockRate = 1000000;
    out.memoryBusWidth = 64;
    out.l2CacheSize = 1 << 20;
    out.maxThreadsPerMultiProcessor = 2048;
    out.maxBlocksPerMultiProcessor = 32;
    out.pageableMemoryAccess = out.concurrentManagedAccess = out.canUseHostPointerForRegisteredMem = 1;
    out.cooperativeLaunch = out.streamPrioritiesSupported = out.hostRegisterSupported = out.memoryPoolsSupported = 1;
    out.asyncEngineCount = out.deviceOverlap = 1;  // copies go on beside a kernel
    out.hostNativeAtomicSupported = out.directManagedMemAccessFromHost = 1;
    out.singleToDoublePrecisionPerfRatio = 2;
    return cudaSuccess;
  }

  cudaError_t synchronize() override {
    Streams::wait();
    return settled();
  }

  cudaError_t reset() override {
    return synchronize();
  }

  int driver_version() override { return CUDART_VERSION; }

  cudaError_t allocate(void **memory, size_t size, Memory kind) override {
    cudaError_t error = allocations().take(memory, size, kind, checked_);
    // No other allocation begins in the page that this one ends in.
    if (!error && checked_ && kind == Memory::device)
      InFlight::add(Use::device, reinterpret_cast<uint64_t>(*memory), size + kGap);
    return error;
  }

  cudaError_t release(void *memory, bool pinned) override {
    if (cudaError_t error = synchronize()) return error;
    cudaError_t error = allocations().give(memory, pinned, checked_);
    if (error && checked_)
      fprintf(stderr, "drawloom: %s of 0x%llx, where no such allocation begins%s\n", pinned ? "cudaFreeHost" : "cudaFree",
              reinterpret_cast<unsigned long long>(memory), explain(reinterpret_cast<uint64_t>(memory)).c_str());
    return error;
  }

  cudaError_t register_host(void *memory, size_t size) override { return allocations().add(memory, size); }
  cudaError_t unregister_host(void *memory) override { return allocations().remove(memory); }

  cudaError_t attributes(cudaPointerAttributes &out, const void *memory) override {
    out = {};
    uint64_t begin;
    Allocation found;
    void *pointer = const_cast<void *>(memory);
    if (!allocations().find(memory, begin, found)) {
      out.type = cudaMemoryTypeUnregistered;
      out.device = cudaInvalidDeviceId;
      out.hostPointer = pointer;
      return cudaSuccess;
    }
    out.type = found.kind == Memory::device    ? cudaMemoryTypeDevice
               : found.kind == Memory::managed ? cudaMemoryTypeManaged
                                               : cudaMemoryTypeHost;
    out.devicePointer = pointer;
    out.hostPointer = found.kind == Memory::device ? nullptr : pointer;
    return cudaSuccess;
  }

  void limit_heap(size_t bytes) override { limit_device_heap(bytes); }

  cudaError_t memory_info(size_t &available, size_t &total) override {
    total = host_memory();
    available = total - std::min(total, allocations().used());
    return cudaSuccess;
  }

  cudaError_t copy(const Rows &rows, cudaStream_t stream, bool asynchronous) override {
    Queue queue = Streams::find(asynchronous ? stream : nullptr);
    if (!queue) return cudaErrorInvalidResourceHandle;
    bool to_device = rows.kind == cudaMemcpyHostToDevice || rows.kind == cudaMemcpyDeviceToDevice;
    bool from_device = rows.kind == cudaMemcpyDeviceToHost || rows.kind == cudaMemcpyDeviceToDevice;
    size_t to_bytes = rows.height ? (rows.height - 1) * rows.to_pitch + rows.width : 0;
    size_t from_bytes = rows.height ? (rows.height - 1) * rows.from_pitch + rows.width : 0;
    if (!fits(rows.to, to_bytes, to_device) || !fits(rows.from, from_bytes, from_device)) return cudaErrorInvalidValue;
    uint64_t to_begin, from_begin;
    Allocation to, from;
    bool known = allocations().find(rows.to, to_begin, to) && allocations().find(rows.from, from_begin, from);
    if (!asynchronous || !known) {  // of memory that is not pinned, a copy is over when the call returns
      Streams::wait(queue);
      if (cudaError_t error = asynchronous ? failed_.load() : settled()) return error;
      if (!pending_) move(rows);
      return cudaSuccess;
    }
    return give(queue, [=] {
      move(rows);
      bool whole = rows.to_pitch == rows.width && rows.from_pitch == rows.width;
      if (checked_ && whole && to.kind == Memory::pinned) {
        uint64_t first = reinterpret_cast<uint64_t>(rows.to), size = rows.width * rows.height;
        // No other allocation begins in the page that one of ours ends in.
        bool alone = !to.registered && first + size == to_begin + to.size;
        InFlight::add(Use::work, first, size + (alone ? kGap : 0), stream, "an asynchronous copy");
      }
    }, rows.width * rows.height);
  }

  cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                   bool asynchronous) override {
    Queue queue = Streams::find(asynchronous ? stream : nullptr);
    if (!queue) return cudaErrorInvalidResourceHandle;
    if (!fits(to, height ? (height - 1) * pitch + width : 0, true)) return cudaErrorInvalidValue;
    uint64_t begin;
    Allocation found;
    cudaError_t error = give(queue, [=] {
      if (checked_) InFlight::open();
      for (size_t row = 0; row < height; ++row) memset(static_cast<char *>(to) + row * pitch, value, width);
      if (checked_) InFlight::close();
    }, width * height);
    if (!asynchronous && allocations().find(to, begin, found) && found.kind != Memory::device) Streams::wait(queue);
    return error;
  }

  cudaError_t create(cudaStream_t *stream, unsigned flags, int priority) override {
    *stream = Streams::create(flags, priority);
    return cudaSuccess;
  }
  cudaError_t destroy(cudaStream_t stream) override {
    return !special(stream) && Streams::destroy(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  }
  cudaError_t synchronize(cudaStream_t stream) override {
    Queue queue = Streams::find(stream);
    if (!queue) return cudaErrorInvalidResourceHandle;
    Streams::wait(queue);
    return settled(stream);
  }
  cudaError_t query(cudaStream_t stream) override {
    Queue queue = Streams::find(stream);
    if (!queue) return cudaErrorInvalidResourceHandle;
    return Streams::done(queue) ? settled(stream) : cudaErrorNotReady;
  }
  cudaError_t flags(cudaStream_t stream, unsigned *flags, int *priority) override {
    Queue queue = Streams::find(stream);
    if (!queue) return cudaErrorInvalidResourceHandle;
    if (flags) *flags = queue->flags;
    if (priority) *priority = queue->priority;
    return cudaSuccess;
  }
  cudaError_t wait(cudaStream_t stream, cudaEvent_t event) override {
    Queue queue = Streams::find(stream);
    Event found = known(event);
    if (!queue || !found) return cudaErrorInvalidResourceHandle;
    Streams::add(queue, [] {}, true, found->last().ticket);
    return cudaSuccess;
  }
  cudaError_t call(cudaStream_t stream, cudaHostFn_t function, void *data) override {
    Queue queue = Streams::find(stream);
    return queue ? give(queue, [=] { function(data); }) : cudaErrorInvalidResourceHandle;
  }

  cudaError_t create(cudaEvent_t *event, unsigned flags) override {
    Event made(new CUevent_st{flags, {}, {}});
    std::lock_guard<std::mutex> lock(events_mutex_);
    events_[*event = made.get()] = made;
    return cudaSuccess;
  }
  cudaError_t destroy(cudaEvent_t event) override {
    std::lock_guard<std::mutex> lock(events_mutex_);
    return events_.erase(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  }
  cudaError_t record(cudaEvent_t event, cudaStream_t stream) override {
    Queue queue = Streams::find(stream);
    Event found = known(event);
    if (!found || !queue) return cudaErrorInvalidResourceHandle;
    auto when = std::make_shared<Clock::time_point>();
    std::lock_guard<std::mutex> lock(found->mutex);
    found->moment = {Streams::add(queue, [when] { *when = Clock::now(); }, true), when};
    return failed_;
  }
  cudaError_t synchronize(cudaEvent_t event) override {
    Event found = known(event);
    if (!found) return cudaErrorInvalidResourceHandle;
    Moment moment = found->last();
    Streams::wait(moment.ticket);
    return settled();
  }
  cudaError_t query(cudaEvent_t event) override {
    Event found = known(event);
    if (!found) return cudaErrorInvalidResourceHandle;
    return Streams::done(found->last().ticket) ? synchronize(event) : cudaErrorNotReady;
  }
  cudaError_t elapsed(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) override {
    Event from = known(begin), to = known(end);
    if (!from || !to || ((from->flags | to->flags) & cudaEventDisableTiming)) return cudaErrorInvalidResourceHandle;
    Moment first = from->last(), second = to->last();
    if (!first.when || !second.when) return cudaErrorInvalidResourceHandle;
    if (!Streams::done(first.ticket) || !Streams::done(second.ticket)) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*second.when - *first.when).count();
    return failed_;
  }

  cudaError_t address(Symbol &symbol, void **memory) override {
    const Image *image = symbol.program->image;
    if (!image) return cudaErrorNoKernelImageForDevice;
    const Variable *variables = static_cast<const Variable *>(image->variables);
    for (int64_t i = 0; i < image->variable_count; ++i) {
      if (symbol.name != static_cast<const char *>(variables[i].name)) continue;
      *memory = variables_of(*symbol.program) + variables[i].offset;
      symbol.size = size_t(variables[i].size);
      return cudaSuccess;
    }
    return cudaErrorInvalidSymbol;
  }

  cudaError_t attributes(cudaFuncAttributes &out, Function &function) override {
    if (!function.kernel) return cudaErrorNoKernelImageForDevice;
    out = {};
    const Kernel &kernel = *function.kernel;
    out.sharedSizeBytes = size_t(kernel.shared_bytes);
    out.localSizeBytes = size_t(static_cast<const Variant *>(kernel.variants)[0].local_bytes);
    out.maxThreadsPerBlock = kernel.most_threads ? int(kernel.most_threads) : kMostThreads;
    out.numRegs = 32;  // as many as leave room for all threads of a multiprocessor: a CPU has no such limit
    out.ptxVersion = out.binaryVersion = 80;
    out.maxDynamicSharedSizeBytes = std::max(kStaticShared - int(kernel.shared_bytes), function.dynamic_shared_limit);
    out.preferredShmemCarveout = -1;
    return cudaSuccess;
  }

  cudaError_t limit_dynamic_shared(Function &function, int bytes) override {
    if (!function.kernel) return cudaErrorNoKernelImageForDevice;
    if (bytes < 0 || bytes + function.kernel->shared_bytes > kSharedPerBlock) return cudaErrorInvalidValue;
    function.dynamic_shared_limit = bytes;
    return cudaSuccess;
  }

  cudaError_t occupancy(int *blocks, Function &function, int threads, size_t dynamic_shared) override {
    if (!function.kernel) return cudaErrorNoKernelImageForDevice;
    if (threads <= 0) return cudaErrorInvalidValue;
    int64_t shared = function.kernel->shared_bytes + int64_t(dynamic_shared);
    int64_t warps = (threads + WARP - 1) / WARP;
    int64_t most = std::min<int64_t>(32, 2048 / WARP / warps);
    if (threads > kMostThreads) most = 0;
    *blocks = int(shared ? std::min<int64_t>(most, kSharedPerBlock / shared) : most);
    return cudaSuccess;
  }

  cudaError_t launch(const Launch &launch) override {
    if (failed_) return failed_;
    if (!launch.function->kernel) return tell_level(*launch.function->program), cudaErrorNoKernelImageForDevice;
    const Kernel &kernel = *launch.function->kernel;
    if (cudaError_t error = refusal(launch, kernel)) return error;
    if (checked_ && !find_checked_code(*launch.function)) return failed_ = cudaErrorNoKernelImageForDevice;
    Queue queue = Streams::find(launch.stream);
    if (!queue) return cudaErrorInvalidResourceHandle;
    std::vector<char> parameters(size_t(kernel.parameter_bytes) + 1);
    const int64_t *places = static_cast<const int64_t *>(kernel.parameters);
    for (int64_t i = 0; i < kernel.parameter_count; ++i)
      memcpy(&parameters[size_t(places[2 * i])], launch.arguments[i], size_t(places[2 * i + 1]));
    if (!waits_ && is_brief(launch)) {
      std::unique_lock<std::mutex> cores(cores_mutex(), std::try_to_lock);
      if (cores && at_once(queue, [&] { run(launch, parameters, Stack::shared); })) return cudaSuccess;
    }
    return give(queue, [this, launch, parameters = std::move(parameters)] {
      std::lock_guard<std::mutex> cores(cores_mutex());
      run(launch, parameters, Stack::own);
    });
  }

 private:
  static bool special(cudaStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

  // Work behind what failed is not done; whoever synchronizes is told. Work that moves few `bytes` is done at once.
  template <class F> cudaError_t give(const Queue &queue, F work, size_t bytes = SIZE_MAX) {
    if (failed_) return failed_;
    if (bytes <= kBriefBytes && !waits_ && at_once(queue, work)) return cudaSuccess;
    Streams::add(queue, [this, work = std::move(work)] {
      if (!pending_) work();
    });
    if (waits_) Streams::wait(queue);
    return cudaSuccess;
  }

  // Does work on the calling thread where the stream has nothing before it; false where it has.
  template <class F> bool at_once(const Queue &queue, F work) {
    if (!Streams::begin(queue)) return false;
    if (!pending_) work();
    Streams::end(queue);
    return true;
  }

  // Somebody waited for a stream, or for all of them: output appears, and errors are told.
  cudaError_t settled(cudaStream_t stream = nullptr) {
    if (checked_ && special(stream)) InFlight::settle();
    if (checked_ && !special(stream)) InFlight::settle(stream);
    fflush(stdout);
    failed_ = pending_.load();
    return failed_;
  }

  void run(const Launch &launch, const std::vector<char> &parameters, Stack stack) {
    char *base = variables_of(*launch.function->program);
    std::vector<Range> ranges;
    if (checked_) {
      ranges = allocations().ranges();
      ranges.push_back(device_heap());
      ranges.push_back({reinterpret_cast<uint64_t>(parameters.data()), parameters.size()});
    }
    if (checked_) InFlight::open();
    Fault fault = run_kernel(launch, parameters, base, checked_ ? &ranges : nullptr, explain, stack);
    if (checked_) {
      watch_arguments(launch, parameters);
      InFlight::close();
    }
    if (!fault.code) return;
    if (fault.code != cudaErrorAssert) {
      fflush(stdout);
      fprintf(stderr, "drawloom: %s\n", fault.report.c_str());
    }
    pending_ = fault.code;
  }

  void move(const Rows &rows) const {
    if (checked_) InFlight::open();
    bool whole = rows.to_pitch == rows.width && rows.from_pitch == rows.width;
    size_t width = whole ? rows.width * rows.height : rows.width, height = whole ? 1 : rows.height;
    for (size_t row = 0; row < height; ++row)
      memmove(static_cast<char *>(rows.to) + row * rows.to_pitch,
              static_cast<const char *>(rows.from) + row * rows.from_pitch, width);
    if (checked_) InFlight::close();
  }

  // Whether `bytes` at `memory` may be copied: those of a device must be inside one allocation; of memory that a caller
  // calls the host's, only what is in an allocation is known to end.
  static bool fits(const void *memory, size_t bytes, bool on_device) {
    if (!bytes) return true;
    uint64_t begin;
    Allocation found;
    if (!allocations().find(memory, begin, found)) return !on_device && memory;
    return reinterpret_cast<uint64_t>(memory) - begin + bytes <= found.size;
  }

  // Managed memory that a kernel was given is the kernel's until somebody waits for it.
  static void watch_arguments(const Launch &launch, const std::vector<char> &parameters) {
    std::string work = "kernel " + readable_name(launch.function->name);
    for (size_t at = 0; at + 8 <= parameters.size(); at += 8) {
      void *pointer;
      memcpy(&pointer, &parameters[at], 8);
      uint64_t begin;
      Allocation found;
      if (!allocations().find(pointer, begin, found) || found.kind != Memory::managed) continue;
      InFlight::add(Use::work, begin, found.size + kGap, launch.stream, work.c_str());
    }
  }

  static cudaError_t refusal(const Launch &launch, const Kernel &kernel) {
    int64_t threads = int64_t(launch.block.x) * launch.block.y * launch.block.z;
    if (kernel.required_x && (launch.block.x != kernel.required_x || launch.block.y != kernel.required_y ||
                              launch.block.z != kernel.required_z))
      return cudaErrorInvalidValue;
    if (kernel.most_threads && threads > kernel.most_threads) return cudaErrorLaunchOutOfResources;
    int64_t allowed = std::max<int64_t>(kStaticShared - kernel.shared_bytes, launch.function->dynamic_shared_limit);
    if (int64_t(launch.dynamic_shared) > allowed) return cudaErrorInvalidValue;
    return cudaSuccess;
  }

  // Null for what is no event, or no longer one.
  Event known(cudaEvent_t event) {
    std::lock_guard<std::mutex> lock(events_mutex_);
    auto found = events_.find(event);
    return found == events_.end() ? nullptr : found->second;
  }

  bool checked_, waits_;
  std::mutex events_mutex_;
  std::map<cudaEvent_t, Event> events_;
  std::atomic<cudaError_t> pending_{cudaSuccess};  // of a launch, until somebody synchronizes
  std::atomic<cudaError_t> failed_{cudaSuccess};   // told; from then on every call fails
};

}  // namespace

std::unique_ptr<Device> cpu_device() { return std::unique_ptr<Device>(new CpuDevice); }

}  // namespace drawloom
