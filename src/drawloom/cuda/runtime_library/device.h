// What a CUDA program's calls become: operations of a device. `cpu_device` runs kernels that were compiled ahead of
// time, `driver_device` hands them to an NVIDIA driver.
#pragma once
#define __DL_RUNTIME_LIBRARY
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attributes.h"
#include "cuda_runtime_api.h"
#include "tables.h"  // made from the compiler's own tables: records and numbers

namespace drawloom {

enum class Memory { device, pinned, managed };

// The device code of one source file. `image` is what its object file registered for the CPU, `blob` what clang
// embedded for GPUs: cubins and PTX. `checked` has the kernels with code that checks accesses: `image` where that is part
// of the program, another that was loaded, or null until it is needed.
struct Program {
  std::string key;
  const char *blob = nullptr;
  const Image *image = nullptr, *checked = nullptr;
  char *variables = nullptr;  // where they stand on the CPU, from the first use on
};

// A kernel, known by the address of its host function.
struct Function {
  Program *program = nullptr;
  std::string name;
  const Kernel *kernel = nullptr;  // null where the program has no code for this CPU
  const Kernel *checked = nullptr;  // with code that checks accesses; null until it is needed
  int dynamic_shared_limit = 0;
  std::atomic<float> nanoseconds_per_thread{-1};  // as the CPU device measured it last; less than 0: never
};

// A __device__ or __constant__ variable, known by the address of its host shadow.
struct Symbol {
  Program *program = nullptr;
  std::string name;
  size_t size = 0;
};

struct Launch {
  Function *function;
  dim3 grid, block;
  void **arguments;
  size_t dynamic_shared;
  cudaStream_t stream;
  bool cooperative;
};

// `height` rows of `width` bytes.
struct Rows {
  void *to;
  size_t to_pitch;
  const void *from;
  size_t from_pitch, width, height;
  cudaMemcpyKind kind;
};

class Device {
 public:
  virtual ~Device() = default;
  // Makes the device the calling thread's.
  virtual cudaError_t activate() { return cudaSuccess; }
  // What went wrong earlier and makes every further call fail.
  virtual cudaError_t failure() { return cudaSuccess; }
  virtual cudaError_t properties(cudaDeviceProp &out) = 0;
  virtual cudaError_t synchronize() = 0;
  virtual cudaError_t reset() = 0;
  virtual int driver_version() = 0;

  virtual cudaError_t allocate(void **memory, size_t size, Memory kind) = 0;
  virtual cudaError_t release(void *memory, bool pinned) = 0;
  virtual cudaError_t register_host(void *memory, size_t size) = 0;
  virtual cudaError_t unregister_host(void *memory) = 0;
  virtual cudaError_t attributes(cudaPointerAttributes &out, const void *memory) = 0;
  virtual void limit_heap(size_t) {}  // of kernels' malloc
  virtual cudaError_t memory_info(size_t &available, size_t &total) = 0;
  virtual cudaError_t copy(const Rows &rows, cudaStream_t stream, bool asynchronous) = 0;
  virtual cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                           bool asynchronous) = 0;

  virtual cudaError_t create(cudaStream_t *stream, unsigned flags, int priority) = 0;
  virtual cudaError_t destroy(cudaStream_t stream) = 0;
  virtual cudaError_t synchronize(cudaStream_t stream) = 0;
  virtual cudaError_t query(cudaStream_t stream) = 0;
  virtual cudaError_t flags(cudaStream_t stream, unsigned *flags, int *priority) = 0;
  virtual cudaError_t wait(cudaStream_t stream, cudaEvent_t event) = 0;
  virtual cudaError_t call(cudaStream_t stream, cudaHostFn_t function, void *data) = 0;
  virtual cudaError_t create(cudaEvent_t *event, unsigned flags) = 0;
  virtual cudaError_t destroy(cudaEvent_t event) = 0;
  virtual cudaError_t record(cudaEvent_t event, cudaStream_t stream) = 0;
  virtual cudaError_t synchronize(cudaEvent_t event) = 0;
  virtual cudaError_t query(cudaEvent_t event) = 0;
  virtual cudaError_t elapsed(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) = 0;

  virtual cudaError_t address(Symbol &symbol, void **memory) = 0;
  virtual cudaError_t attributes(cudaFuncAttributes &out, Function &function) = 0;
  virtual cudaError_t limit_dynamic_shared(Function &function, int bytes) = 0;
  virtual cudaError_t occupancy(int *blocks, Function &function, int threads, size_t dynamic_shared) = 0;
  virtual cudaError_t launch(const Launch &launch) = 0;
};

// Limits of a launch that hold on every device (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr int kMostThreads = 1024;
constexpr int kMostBlock[3] = {1024, 1024, 64};
constexpr int kMostGrid[3] = {2147483647, 65535, 65535};
constexpr int kStaticShared = 48 << 10;

// The devices that DRAWLOOM_DEVICE chooses: "cpu", "cuda" or "cuda:N"; without it the GPUs where a driver answers, else
// the CPU. Empty where the chosen one is not there, or a setting is none.
std::vector<std::unique_ptr<Device>> find_devices();
std::unique_ptr<Device> cpu_device();
std::vector<std::unique_ptr<Device>> driver_devices();

// The tables that object files registered, by key; null for none.
const Image *image_of(const std::string &key);

}  // namespace drawloom
