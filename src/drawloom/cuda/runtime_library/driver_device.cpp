// GPUs through the NVIDIA driver's interface, which is loaded where it is installed: no toolkit, no other library. The
// driver's error numbers, attribute numbers and flags are those of the runtime interface.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "device.h"
#include "embedded.h"
#include "settings.h"

namespace drawloom {
namespace {

typedef uint64_t Address;

// Rows of a 2-D copy, as the driver's interface lays them out.
struct DriverRows {
  size_t from_x, from_y;
  unsigned from_type;
  const void *from_host;
  Address from_device;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  unsigned to_type;
  void *to_host;
  Address to_device;
  void *to_array;
  size_t to_pitch;
  size_t width, height;
};
constexpr unsigned kUnified = 4;  // a memory type: the driver finds out whose an address is

#define DRIVER_FUNCTIONS(X)                                                                                       \
  X(cuInit, (unsigned))                                                                                           \
  X(cuDriverGetVersion, (int *))                                                                                  \
  X(cuDeviceGetCount, (int *))                                                                                    \
  X(cuDeviceGet, (int *, int))                                                                                    \
  X(cuDeviceGetName, (char *, int, int))                                                                          \
  X(cuDeviceGetAttribute, (int *, int, int))                                                                      \
  X(cuDeviceTotalMem, (size_t *, int))                                                                            \
  X(cuDevicePrimaryCtxRetain, (void **, int))                                                                     \
  X(cuDevicePrimaryCtxReset, (int))                                                                               \
  X(cuDevicePrimaryCtxRelease, (int))                                                                             \
  X(cuCtxSetCurrent, (void *))                                                                                    \
  X(cuCtxSynchronize, ())                                                                                         \
  X(cuMemAlloc, (Address *, size_t))                                                                              \
  X(cuMemFree, (Address))                                                                                         \
  X(cuMemAllocManaged, (Address *, size_t, unsigned))                                                             \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                                                  \
  X(cuMemFreeHost, (void *))                                                                                      \
  X(cuMemHostRegister, (void *, size_t, unsigned))                                                                \
  X(cuMemHostUnregister, (void *))                                                                                \
  X(cuMemGetInfo, (size_t *, size_t *))                                                                           \
  X(cuPointerGetAttribute, (void *, int, Address))                                                                \
  X(cuMemcpy, (Address, Address, size_t))                                                                         \
  X(cuMemcpyAsync, (Address, Address, size_t, cudaStream_t))                                                      \
  X(cuMemcpy2DUnaligned, (const DriverRows *))                                                                    \
  X(cuMemcpy2DAsync, (const DriverRows *, cudaStream_t))                                                          \
  X(cuMemsetD8, (Address, unsigned char, size_t))                                                                 \
  X(cuMemsetD8Async, (Address, unsigned char, size_t, cudaStream_t))                                              \
  X(cuMemsetD2D8, (Address, size_t, unsigned char, size_t, size_t))                                               \
  X(cuMemsetD2D8Async, (Address, size_t, unsigned char, size_t, size_t, cudaStream_t))                            \
  X(cuStreamCreateWithPriority, (cudaStream_t *, unsigned, int))                                                  \
  X(cuStreamDestroy, (cudaStream_t))                                                                              \
  X(cuStreamSynchronize, (cudaStream_t))                                                                          \
  X(cuStreamQuery, (cudaStream_t))                                                                                \
  X(cuStreamGetFlags, (cudaStream_t, unsigned *))                                                                 \
  X(cuStreamGetPriority, (cudaStream_t, int *))                                                                   \
  X(cuStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned))                                                     \
  X(cuLaunchHostFunc, (cudaStream_t, cudaHostFn_t, void *))                                                       \
  X(cuEventCreate, (cudaEvent_t *, unsigned))                                                                     \
  X(cuEventDestroy, (cudaEvent_t))                                                                                \
  X(cuEventRecord, (cudaEvent_t, cudaStream_t))                                                                   \
  X(cuEventSynchronize, (cudaEvent_t))                                                                            \
  X(cuEventQuery, (cudaEvent_t))                                                                                  \
  X(cuEventElapsedTime, (float *, cudaEvent_t, cudaEvent_t))                                                      \
  X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                                        \
  X(cuModuleGetFunction, (void **, void *, const char *))                                                         \
  X(cuModuleGetGlobal, (Address *, size_t *, void *, const char *))                                               \
  X(cuFuncGetAttribute, (int *, int, void *))                                                                     \
  X(cuFuncSetAttribute, (void *, int, int))                                                                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))                                    \
  X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t,  \
                     void **, void **))                                                                           \
  X(cuLaunchCooperativeKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
                                cudaStream_t, void **))

constexpr int kDriverInterface = 12000;  // the version whose signatures these are

// The driver's functions; null where this driver has none of that name.
struct Driver {
#define MEMBER(name, parameters) int(*name) parameters = nullptr;
  DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER

  bool load() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    typedef int (*Find)(const char *, void **, int, uint64_t, int *);
    Find find = reinterpret_cast<Find>(dlsym(library, "cuGetProcAddress_v2"));
    if (!find) return false;
    auto look = [&](const char *name) {
      void *function = nullptr;
      int status = 0;
      return find(name, &function, kDriverInterface, 0, &status) ? nullptr : function;
    };
#define LOOK(name, parameters) name = reinterpret_cast<int(*) parameters>(look(#name));
    DRIVER_FUNCTIONS(LOOK)
#undef LOOK
    return cuInit && cuDeviceGetCount && cuInit(0) == 0;
  }
} driver;

// Calls a function of the driver; one that it lacks is not supported.
template <class... P, class... A> cudaError_t ask(int (*function)(P...), A... arguments) {
  return function ? cudaError_t(function(arguments...)) : cudaErrorNotSupported;
}

Address address_of(const void *memory) { return reinterpret_cast<Address>(memory); }

// Numbers of the driver's pointer and function attributes.
enum { kMemoryType = 2, kDevicePointer = 3, kHostPointer = 4, kIsManaged = 8 };
enum { kMostThreadsOfFunction, kShared, kConstant, kLocal, kRegisters, kPtx, kBinary, kCaching, kMostDynamic };

std::atomic<unsigned> contexts{0};  // how many were made

class DriverDevice : public Device {
 public:
  explicit DriverDevice(int ordinal) : ordinal_(ordinal) {}

  cudaError_t activate() override {
    static thread_local unsigned mine = 0;  // the thread's present context, by the number of its making
    std::lock_guard<std::mutex> lock(mutex_);
    if (!context_) {
      if (cudaError_t error = ask(driver.cuDeviceGet, &device_, ordinal_)) return error;
      if (cudaError_t error = ask(driver.cuDevicePrimaryCtxRetain, &context_, device_)) return error;
      made_ = ++contexts;
    }
    if (mine == made_) return cudaSuccess;
    cudaError_t error = ask(driver.cuCtxSetCurrent, context_);
    if (!error) mine = made_;
    return error;
  }

  cudaError_t properties(cudaDeviceProp &out) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!known_) {
      if (cudaError_t error = ask_properties()) return error;
      known_ = true;
    }
    out = properties_;
    return cudaSuccess;
  }

  cudaError_t synchronize() override { return ask(driver.cuCtxSynchronize); }
  cudaError_t reset() override {
    std::lock_guard<std::mutex> lock(mutex_);
    modules_.clear();
    functions_.clear();
    cudaError_t error = ask(driver.cuDevicePrimaryCtxReset, device_);
    ask(driver.cuDevicePrimaryCtxRelease, device_);  // the next call makes a new one
    context_ = nullptr;
    return error;
  }
  int driver_version() override {
    int version = 0;
    ask(driver.cuDriverGetVersion, &version);
    return version;
  }

  cudaError_t allocate(void **memory, size_t size, Memory kind) override {
    if (kind == Memory::pinned) return ask(driver.cuMemHostAlloc, memory, size, kPortable | kMapped);
    Address found = 0;
    cudaError_t error = kind == Memory::managed ? ask(driver.cuMemAllocManaged, &found, size, unsigned(1))
                                                : ask(driver.cuMemAlloc, &found, size);
    if (!error) *memory = reinterpret_cast<void *>(found);
    return error;
  }
  cudaError_t release(void *memory, bool pinned) override {
    return pinned ? ask(driver.cuMemFreeHost, memory) : ask(driver.cuMemFree, address_of(memory));
  }
  cudaError_t register_host(void *memory, size_t size) override {
    return ask(driver.cuMemHostRegister, memory, size, kPortable | kMapped);
  }
  cudaError_t unregister_host(void *memory) override { return ask(driver.cuMemHostUnregister, memory); }

  cudaError_t attributes(cudaPointerAttributes &out, const void *memory) override {
    out = {};
    unsigned type = 0, managed = 0;
    Address at = address_of(memory);
    if (ask(driver.cuPointerGetAttribute, static_cast<void *>(&type), int(kMemoryType), at)) {
      out.device = cudaInvalidDeviceId;
      out.hostPointer = const_cast<void *>(memory);
      return cudaSuccess;  // the driver knows nothing of it: the program's own memory
    }
    ask(driver.cuPointerGetAttribute, static_cast<void *>(&managed), int(kIsManaged), at);
    ask(driver.cuPointerGetAttribute, static_cast<void *>(&out.devicePointer), int(kDevicePointer), at);
    ask(driver.cuPointerGetAttribute, static_cast<void *>(&out.hostPointer), int(kHostPointer), at);
    out.type = managed ? cudaMemoryTypeManaged : type == 1 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    out.device = ordinal_;
    return cudaSuccess;
  }
  cudaError_t memory_info(size_t &available, size_t &total) override {
    return ask(driver.cuMemGetInfo, &available, &total);
  }

  cudaError_t copy(const Rows &rows, cudaStream_t stream, bool asynchronous) override {
    if (rows.height == 1) {
      Address to = address_of(rows.to), from = address_of(rows.from);
      return asynchronous ? ask(driver.cuMemcpyAsync, to, from, rows.width, stream)
                          : ask(driver.cuMemcpy, to, from, rows.width);
    }
    DriverRows all = {};
    all.from_type = all.to_type = kUnified;
    all.from_device = address_of(rows.from);
    all.to_device = address_of(rows.to);
    all.from_pitch = rows.from_pitch;
    all.to_pitch = rows.to_pitch;
    all.width = rows.width;
    all.height = rows.height;
    const DriverRows *given = &all;
    return asynchronous ? ask(driver.cuMemcpy2DAsync, given, stream) : ask(driver.cuMemcpy2DUnaligned, given);
  }
  cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                   bool asynchronous) override {
    Address at = address_of(to);
    unsigned char byte = static_cast<unsigned char>(value);
    if (height == 1)
      return asynchronous ? ask(driver.cuMemsetD8Async, at, byte, width, stream)
                          : ask(driver.cuMemsetD8, at, byte, width);
    return asynchronous ? ask(driver.cuMemsetD2D8Async, at, pitch, byte, width, height, stream)
                        : ask(driver.cuMemsetD2D8, at, pitch, byte, width, height);
  }

  cudaError_t create(cudaStream_t *stream, unsigned flags, int priority) override {
    return ask(driver.cuStreamCreateWithPriority, stream, flags, priority);
  }
  cudaError_t destroy(cudaStream_t stream) override { return ask(driver.cuStreamDestroy, stream); }
  cudaError_t synchronize(cudaStream_t stream) override { return ask(driver.cuStreamSynchronize, stream); }
  cudaError_t query(cudaStream_t stream) override { return ask(driver.cuStreamQuery, stream); }
  cudaError_t flags(cudaStream_t stream, unsigned *flags, int *priority) override {
    return flags ? ask(driver.cuStreamGetFlags, stream, flags) : ask(driver.cuStreamGetPriority, stream, priority);
  }
  cudaError_t wait(cudaStream_t stream, cudaEvent_t event) override {
    return ask(driver.cuStreamWaitEvent, stream, event, 0u);
  }
  cudaError_t call(cudaStream_t stream, cudaHostFn_t function, void *data) override {
    return ask(driver.cuLaunchHostFunc, stream, function, data);
  }

  cudaError_t create(cudaEvent_t *event, unsigned flags) override { return ask(driver.cuEventCreate, event, flags); }
  cudaError_t destroy(cudaEvent_t event) override { return ask(driver.cuEventDestroy, event); }
  cudaError_t record(cudaEvent_t event, cudaStream_t stream) override {
    return ask(driver.cuEventRecord, event, stream);
  }
  cudaError_t synchronize(cudaEvent_t event) override { return ask(driver.cuEventSynchronize, event); }
  cudaError_t query(cudaEvent_t event) override { return ask(driver.cuEventQuery, event); }
  cudaError_t elapsed(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) override {
    return ask(driver.cuEventElapsedTime, milliseconds, begin, end);
  }

  cudaError_t address(Symbol &symbol, void **memory) override {
    void *module = nullptr;
    if (cudaError_t error = load(*symbol.program, &module)) return error;
    Address found = 0;
    size_t size = 0;
    if (ask(driver.cuModuleGetGlobal, &found, &size, module, symbol.name.c_str())) return cudaErrorInvalidSymbol;
    symbol.size = size;
    *memory = reinterpret_cast<void *>(found);
    return cudaSuccess;
  }

  cudaError_t attributes(cudaFuncAttributes &out, Function &function) override {
    void *found = nullptr;
    if (cudaError_t error = load(function, &found)) return error;
    out = {};
    auto value = [&](int attribute) {
      int number = 0;
      ask(driver.cuFuncGetAttribute, &number, attribute, found);
      return number;
    };
    out.maxThreadsPerBlock = value(kMostThreadsOfFunction);
    out.sharedSizeBytes = size_t(value(kShared));
    out.constSizeBytes = size_t(value(kConstant));
    out.localSizeBytes = size_t(value(kLocal));
    out.numRegs = value(kRegisters);
    out.ptxVersion = value(kPtx);
    out.binaryVersion = value(kBinary);
    out.cacheModeCA = value(kCaching);
    out.maxDynamicSharedSizeBytes = value(kMostDynamic);
    out.preferredShmemCarveout = -1;
    return cudaSuccess;
  }
  cudaError_t limit_dynamic_shared(Function &function, int bytes) override {
    void *found = nullptr;
    if (cudaError_t error = load(function, &found)) return error;
    return ask(driver.cuFuncSetAttribute, found, int(kMostDynamic), bytes);
  }
  cudaError_t occupancy(int *blocks, Function &function, int threads, size_t dynamic_shared) override {
    void *found = nullptr;
    if (cudaError_t error = load(function, &found)) return error;
    return ask(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, found, threads, dynamic_shared);
  }

  cudaError_t launch(const Launch &l) override {
    void *found = nullptr;
    if (cudaError_t error = load(*l.function, &found)) return error;
    unsigned shared = unsigned(l.dynamic_shared);
    if (l.cooperative)
      return ask(driver.cuLaunchCooperativeKernel, found, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z,
                 shared, l.stream, l.arguments);
    return ask(driver.cuLaunchKernel, found, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, shared,
               l.stream, l.arguments, static_cast<void **>(nullptr));
  }

 private:
  static constexpr unsigned kPortable = 1, kMapped = 2;

  int attribute(int number) const {
    int value = 0;
    ask(driver.cuDeviceGetAttribute, &value, number, device_);
    return value;
  }

  cudaError_t ask_properties() {
    cudaDeviceProp &p = properties_;
    p = {};
    if (cudaError_t error = ask(driver.cuDeviceGetName, p.name, int(sizeof p.name), device_)) return error;
    if (cudaError_t error = ask(driver.cuDeviceTotalMem, &p.totalGlobalMem, device_)) return error;
#define ASKED(number, field) p.field = decltype(+p.field)(attribute(number));
    DEVICE_ATTRIBUTES(ASKED)
#undef ASKED
    return cudaSuccess;
  }

  // Machine code runs on its compute capability and on later ones of the same major number (CUDA C++ Programming Guide,
  // "Binary Compatibility"); without any, or where DRAWLOOM_ASSEMBLER=driver asks for it, the driver compiles the PTX.
  cudaError_t load(Program &program, void **module) {
    std::lock_guard<std::mutex> lock(mutex_);
    void *&known = modules_[&program];
    if (!known) {
      bool by_driver = settings().by_driver;
      uint64_t major = uint64_t(attribute(cudaDevAttrComputeCapabilityMajor));
      uint64_t minor = uint64_t(attribute(cudaDevAttrComputeCapabilityMinor));
      if (!is_ours(program.blob)) return cudaErrorInvalidKernelImage;
      std::vector<Code> all = codes_of(program.blob);
      const Code *best = nullptr;
      for (const Code &one : all) {
        bool fits = one.kind == kPtxImage || (!by_driver && one.kind / 10 == major && one.kind % 10 <= minor);
        if (fits && (!best || one.kind > best->kind)) best = &one;
      }
      if (!best) return cudaErrorNoKernelImageForDevice;
      cudaError_t error = ask(driver.cuModuleLoadDataEx, &known, static_cast<const void *>(best->bytes), 0u,
                              static_cast<int *>(nullptr), static_cast<void **>(nullptr));
      if (error) return error;
    }
    *module = known;
    return cudaSuccess;
  }

  cudaError_t load(Function &function, void **found) {
    void *module = nullptr;
    if (cudaError_t error = load(*function.program, &module)) return error;
    std::lock_guard<std::mutex> lock(mutex_);
    void *&known = functions_[&function];
    if (!known && ask(driver.cuModuleGetFunction, &known, module, function.name.c_str()))
      return cudaErrorInvalidDeviceFunction;
    *found = known;
    return cudaSuccess;
  }

  int ordinal_, device_ = 0;
  void *context_ = nullptr;
  unsigned made_ = 0;
  bool known_ = false;
  cudaDeviceProp properties_;
  std::mutex mutex_;
  std::map<Program *, void *> modules_;
  std::map<Function *, void *> functions_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> driver_devices() {
  std::vector<std::unique_ptr<Device>> all;
  int count = 0;
  if (!driver.load() || ask(driver.cuDeviceGetCount, &count)) return all;
  for (int i = 0; i < count; ++i) all.emplace_back(new DriverDevice(i));
  return all;
}

}  // namespace drawloom
