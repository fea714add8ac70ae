// The runtime interface's calls about errors, devices, streams, events and launches, to operations of the device.
#include "api.h"
#include "process.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <strings.h>

using namespace drawloom;

namespace drawloom {

// Faults of kernels: CUDA documents each of them as leaving the process in a state in which every further call returns
// the same error, until it ends.
static bool stays(cudaError_t error) {
  constexpr cudaError_t kFaults[] = {
      cudaErrorIllegalAddress,     cudaErrorLaunchTimeout,     cudaErrorAssert,
      cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
      cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,        cudaErrorLaunchFailure};
  return std::find(std::begin(kFaults), std::end(kFaults), error) != std::end(kFaults);
}

cudaError_t note(cudaError_t error) {
  if (error && error != cudaErrorNotReady) thread().last_error = error;
  if (stays(error)) process().broken = error;
  return error;
}

}  // namespace drawloom

namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};
#define ERROR_ROW(name, number, text) {name, #name, text},
constexpr ErrorText kErrors[] = {__DL_ERROR_CODES(ERROR_ROW)};
#undef ERROR_ROW

// Attributes as fields of the properties; those that are not here are asked as 0.
struct Attribute {
  cudaDeviceAttr attribute;
  int (*value)(const cudaDeviceProp &);
};
#define ATTRIBUTE_ROW(attribute, field) {attribute, [](const cudaDeviceProp &p) { return int(p.field); }},
constexpr Attribute kAttributes[] = {DEVICE_ATTRIBUTES(ATTRIBUTE_ROW)};
#undef ATTRIBUTE_ROW
constexpr int kMostAttribute = 149;  // numbers beyond are no attributes of CUDA 12

const ErrorText *text_of(cudaError_t error) {
  for (const ErrorText &one : kErrors)
    if (one.code == error) return &one;
  return nullptr;
}

bool valid_device(int index) { return index >= 0 && index < device_count(); }

// Asks another device than the thread's.
template <class F> cudaError_t with_device(int index, F use) {
  if (!valid_device(index)) return note(cudaErrorInvalidDevice);
  int before = current_device();
  current_device() = index;
  cudaError_t error = on_device(use);
  current_device() = before;
  return error;
}

template <class F> cudaError_t with_function(const void *host, F use) {
  return on_device([&](Device &d) {
    Function *function = function_of(host);
    return function ? use(d, *function) : cudaErrorInvalidDeviceFunction;
  });
}

}  // namespace

namespace drawloom {

cudaError_t check_configuration(dim3 grid, dim3 block) {
  const unsigned g[] = {grid.x, grid.y, grid.z}, b[] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; ++i)
    if (!g[i] || !b[i] || g[i] > unsigned(kMostGrid[i]) || b[i] > unsigned(kMostBlock[i]))
      return cudaErrorInvalidConfiguration;
  return uint64_t(block.x) * block.y * block.z > kMostThreads ? cudaErrorInvalidConfiguration : cudaSuccess;
}

}  // namespace drawloom

namespace {

cudaError_t launch(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
                   bool cooperative) {
  return with_function(host, [&](Device &d, Function &function) {
    if (cudaError_t error = check_configuration(grid, block)) return error;
    Launch one{&function, grid, block, arguments, shared, stream, cooperative};
    if (cooperative) {
      int blocks = 0;
      cudaDeviceProp properties;
      cudaError_t error = d.occupancy(&blocks, function, int(block.x * block.y * block.z), shared);
      if (!error) error = d.properties(properties);
      if (error) return error;
      if (uint64_t(grid.x) * grid.y * grid.z > uint64_t(blocks) * unsigned(properties.multiProcessorCount))
        return cudaErrorCooperativeLaunchTooLarge;
    }
    return give_or_capture(stream, [&] { return d.launch(one); }, [&](Operation &out) {
      return Operation::kernel(out, host, &function, grid, block, arguments, shared, cooperative);
    });
  });
}

cudaError_t refused() { return note(cudaErrorNotSupported); }
// The one pool of a device: nothing is known of it but that it is there.
cudaMemPool_t the_pool() { return reinterpret_cast<cudaMemPool_t>(process().limits); }
cudaError_t accepted() {
  return on_device([](Device &) { return cudaSuccess; });
}

}  // namespace

extern "C" {

// -- errors

cudaError_t cudaGetLastError() {
  cudaError_t error = thread().last_error;
  thread().last_error = process().broken;
  return error;
}
cudaError_t cudaPeekAtLastError() { return thread().last_error; }
const char *cudaGetErrorName(cudaError_t error) {
  const ErrorText *found = text_of(error);
  return found ? found->name : "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error) {
  const ErrorText *found = text_of(error);
  return found ? found->text : "unrecognized error code";
}

// -- devices

cudaError_t cudaGetDeviceCount(int *count) {
  if (!count) return note(cudaErrorInvalidValue);
  *count = device_count();
  return note(*count ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *index) {
  if (!index) return note(cudaErrorInvalidValue);
  *index = current_device();
  return note(device_count() ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int index) {
  if (!valid_device(index)) return note(cudaErrorInvalidDevice);
  current_device() = index;
  return accepted();
}
cudaError_t cudaSetDeviceFlags(unsigned int) { return accepted(); }
cudaError_t cudaGetDeviceFlags(unsigned int *flags) {
  if (!flags) return note(cudaErrorInvalidValue);
  *flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;
  return accepted();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int index) {
  if (!properties) return note(cudaErrorInvalidValue);
  return with_device(index, [&](Device &d) { return d.properties(*properties); });
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int index) {
  if (!value || attribute < 1 || int(attribute) > kMostAttribute) return note(cudaErrorInvalidValue);
  return with_device(index, [&](Device &d) {
    cudaDeviceProp properties;
    if (cudaError_t error = d.properties(properties)) return error;
    *value = 0;
    for (const Attribute &one : kAttributes)
      if (one.attribute == attribute) *value = one.value(properties);
    return cudaSuccess;
  });
}
cudaError_t cudaChooseDevice(int *index, const cudaDeviceProp *) {
  if (!index) return note(cudaErrorInvalidValue);
  *index = 0;
  return accepted();
}
cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t error = Captures::forbid_device()) return note(error);
  return on_device([](Device &d) { return d.synchronize(); });
}
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceReset() {
  cudaError_t error = Captures::forbid_device();
  if (error) return note(error);
  Device *found = device(error);
  if (found) error = found->reset();
  thread().last_error = process().broken;
  return note(error);
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return accepted(); }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config) {
  if (!config) return note(cudaErrorInvalidValue);
  *config = cudaFuncCachePreferNone;
  return accepted();
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return accepted(); }
cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit) {
  if (!value || unsigned(limit) >= std::size(process().limits)) return note(cudaErrorInvalidValue);
  *value = process().limits[limit];
  return accepted();
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (unsigned(limit) >= std::size(process().limits)) return note(cudaErrorInvalidValue);
  process().limits[limit] = value;
  return on_device([&](Device &d) {
    if (limit == cudaLimitMallocHeapSize) d.limit_heap(value);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config) {
  if (!config) return note(cudaErrorInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return accepted();
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int index) {
  return with_device(index, [&](Device &d) {
    cudaDeviceProp p;
    if (cudaError_t error = d.properties(p)) return error;
    int length = text && size > 0 ? snprintf(text, size_t(size), "%04x:%02x:%02x.0", unsigned(p.pciDomainID),
                                             unsigned(p.pciBusID), unsigned(p.pciDeviceID)) : size;
    return length < size ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaDeviceGetByPCIBusId(int *index, const char *text) {
  if (!index || !text) return note(cudaErrorInvalidValue);
  for (int i = 0; i < device_count(); ++i) {
    char found[32];
    if (cudaDeviceGetPCIBusId(found, sizeof found, i) || strcasecmp(found, text)) continue;
    *index = i;
    return cudaSuccess;
  }
  return note(cudaErrorInvalidDevice);
}
cudaError_t cudaInitDevice(int index, unsigned int, unsigned int) {
  return with_device(index, [](Device &) { return cudaSuccess; });
}
cudaError_t cudaSetValidDevices(int *indices, int count) {
  for (int i = 0; i < count; ++i)
    if (!indices || !valid_device(indices[i])) return note(indices ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  return accepted();
}
cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int index) {
  if (!pool) return note(cudaErrorInvalidValue);
  *pool = the_pool();
  return with_device(index, [](Device &) { return cudaSuccess; });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int index) { return cudaDeviceGetDefaultMemPool(pool, index); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void *value) {
  return pool == the_pool() && value ? accepted() : note(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value) {
  if (pool != the_pool() || !value) return note(cudaErrorInvalidValue);
  if (attribute > cudaMemPoolAttrReleaseThreshold) return refused();  // what is in use is not counted by pools
  if (attribute == cudaMemPoolAttrReleaseThreshold)
    *static_cast<uint64_t *>(value) = 0;
  else
    *static_cast<int *>(value) = 1;
  return accepted();
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return pool == the_pool() ? accepted() : note(cudaErrorInvalidValue);
}
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return pool == the_pool() ? cudaMallocAsync(memory, size, stream) : note(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return accepted();
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int index, int peer) {
  if (!can) return note(cudaErrorInvalidValue);
  if (!valid_device(index) || !valid_device(peer)) return note(cudaErrorInvalidDevice);
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int) {
  return note(valid_device(peer) ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return note(valid_device(peer) ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attribute, int index, int peer) {
  if (!value || attribute < 1 || int(attribute) > 4) return note(cudaErrorInvalidValue);
  if (!valid_device(index) || !valid_device(peer) || index == peer) return note(cudaErrorInvalidDevice);
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return accepted(); }
cudaError_t cudaDriverGetVersion(int *version) {
  if (!version) return note(cudaErrorInvalidValue);
  return on_device([&](Device &d) {
    *version = d.driver_version();
    return cudaSuccess;
  });
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  if (!version) return note(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// -- streams and events

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
  return on_device([&](Device &d) {
    if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    return d.create(stream, flags, priority);
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Captures::forget(stream);
  return on_device([&](Device &d) { return d.destroy(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (cudaError_t error = Captures::forbid_stream(stream)) return note(error);
  return on_device([&](Device &d) { return d.synchronize(stream); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (cudaError_t error = Captures::forbid_stream(stream)) return note(error);
  return on_device([&](Device &d) { return d.query(stream); });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags) {
  return on_device([&](Device &d) { return flags ? d.flags(stream, flags, nullptr) : cudaErrorInvalidValue; });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  return on_device([&](Device &d) { return priority ? d.flags(stream, nullptr, priority) : cudaErrorInvalidValue; });
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue *value) {
  if (!value) return note(cudaErrorInvalidValue);
  if (id != cudaStreamAttributeAccessPolicyWindow && id != cudaStreamAttributeSynchronizationPolicy) return refused();
  return on_device([&](Device &d) {
    unsigned flags;
    return d.flags(stream, &flags, nullptr);  // both are hints; fails for what is no stream
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *index) {
  if (!index) return note(cudaErrorInvalidValue);
  return on_device([&](Device &d) {
    unsigned flags;
    *index = current_device();
    return d.flags(stream, &flags, nullptr);  // fails for what is no stream
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return on_device([&](Device &d) {
    bool captured;
    cudaError_t error = Captures::wait(d, stream, event, captured);
    return error || captured ? error : d.wait(stream, event);
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  return on_device([&](Device &d) {
    if (!function) return cudaErrorInvalidValue;
    return give_or_capture(stream, [&] { return d.call(stream, function, data); }, [&](Operation &out) {
      out.type = cudaGraphNodeTypeHost;
      out.call = {function, data};
      return cudaSuccess;
    });
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags) {
  struct Call {
    cudaStream_t stream;
    cudaStreamCallback_t callback;
    void *data;
  };
  if (!callback || flags) return note(cudaErrorInvalidValue);
  if (cudaError_t error = Captures::forbid_capture(stream)) return note(error);
  auto run = [](void *given) {
    std::unique_ptr<Call> call(static_cast<Call *>(given));
    call->callback(call->stream, cudaSuccess, call->data);
  };
  return cudaLaunchHostFunc(stream, run, new Call{stream, callback, data});
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *, size_t, unsigned int) {
  if (cudaError_t error = Captures::forbid_capture(stream)) return note(error);
  return accepted();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  return on_device([&](Device &d) {
    if (!event || flags > (cudaEventBlockingSync | cudaEventDisableTiming)) return cudaErrorInvalidValue;
    return d.create(event, flags);
  });
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Captures::forget(event);
  return on_device([&](Device &d) { return d.destroy(event); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return on_device([&](Device &d) {
    bool captured;
    cudaError_t error = Captures::record(event, stream, captured);
    return error || captured ? error : d.record(event, stream);
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return flags ? note(cudaErrorInvalidValue) : cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (cudaError_t error = Captures::forbid_event(event)) return note(error);
  return on_device([&](Device &d) { return d.synchronize(event); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (cudaError_t error = Captures::forbid_event(event)) return note(error);
  return on_device([&](Device &d) { return d.query(event); });
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return on_device([&](Device &d) {
    return milliseconds ? d.elapsed(milliseconds, begin, end) : cudaErrorInvalidValue;
  });
}

// -- kernels

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st *stream) {
  thread().configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  std::vector<Configuration> &configurations = thread().configurations;
  if (configurations.empty()) return note(cudaErrorMissingConfiguration);
  const Configuration &top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t *>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *function, void **arguments) {
  if (!c || (c->numAttrs && !c->attrs)) return note(cudaErrorInvalidValue);
  bool cooperative = false;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    switch (c->attrs[i].id) {
      case cudaLaunchAttributeCooperative: cooperative = c->attrs[i].val.cooperative; break;
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeProgrammaticStreamSerialization: break;  // leave to go earlier, which is not used
      default: return refused();
    }
  }
  return launch(function, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream, cooperative);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function) {
  if (!attributes) return note(cudaErrorInvalidValue);
  return with_function(function, [&](Device &d, Function &f) { return d.attributes(*attributes, f); });
}
cudaError_t cudaFuncGetName(const char **name, const void *function) {
  if (!name) return note(cudaErrorInvalidValue);
  return with_function(function, [&](Device &, Function &f) {
    *name = f.name.c_str();
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
  return with_function(function, [&](Device &d, Function &f) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) return d.limit_dynamic_shared(f, value);
    return attribute == cudaFuncAttributePreferredSharedMemoryCarveout ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaFuncSetCacheConfig(const void *function, cudaFuncCache) {
  return with_function(function, [](Device &, Function &) { return cudaSuccess; });
}
cudaError_t cudaFuncSetSharedMemConfig(const void *function, cudaSharedMemConfig) {
  return with_function(function, [](Device &, Function &) { return cudaSuccess; });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_threads,
                                                          size_t dynamic_shared) {
  if (!blocks) return note(cudaErrorInvalidValue);
  return with_function(
      function, [&](Device &d, Function &f) { return d.occupancy(blocks, f, block_threads, dynamic_shared); });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                   int block_threads, size_t dynamic_shared,
                                                                   unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, dynamic_shared);
}
// The most dynamic shared memory with which so many blocks fit, found by halves: fewer bytes never let fewer fit.
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads) {
  if (!bytes || blocks <= 0) return note(cudaErrorInvalidValue);
  return with_function(function, [&](Device &d, Function &f) {
    cudaDeviceProp properties;
    if (cudaError_t error = d.properties(properties)) return error;
    size_t fits = 0, too_much = properties.sharedMemPerBlockOptin + 1;
    while (too_much - fits > 1) {
      size_t middle = fits + (too_much - fits) / 2;
      int found = 0;
      if (cudaError_t error = d.occupancy(&found, f, threads, middle)) return error;
      (found >= blocks ? fits : too_much) = middle;
    }
    *bytes = fits;
    return cudaSuccess;
  });
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

// -- refused: textures, surfaces, arrays

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *, const cudaResourceDesc *, const cudaTextureDesc *,
                                    const cudaResourceViewDesc *) {
  return refused();
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return refused(); }
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *, const cudaResourceDesc *) { return refused(); }
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t) { return refused(); }
cudaError_t cudaMallocArray(cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t, unsigned int) {
  return refused();
}
cudaError_t cudaFreeArray(cudaArray_t) { return refused(); }
cudaError_t __dl_not_supported() { return refused(); }
}
