// The host's side of CUDA programs: the part of the CUDA runtime interface that Drawloom's runtime library has, with
// the interface's own names, numbers and units (CUDA Runtime API 12). Sizes are in bytes, times in milliseconds.
#pragma once
#include "drawloom/error_codes.h"
#include "drawloom/vector_types.h"

#define CUDART_VERSION 12080
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__

enum cudaError {
#define __DL_ENUMERATOR(name, number, text) name = number,
  __DL_ERROR_CODES(__DL_ENUMERATOR)
#undef __DL_ENUMERATOR
  cudaErrorApiFailureBase = 10000
};
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2, cudaMemoryTypeManaged = 3
};
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0, cudaFuncCachePreferShared = 1, cudaFuncCachePreferL1 = 2, cudaFuncCachePreferEqual = 3
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault = 0, cudaSharedMemBankSizeFourByte = 1, cudaSharedMemBankSizeEightByte = 2
};
enum cudaLimit {
  cudaLimitStackSize = 0, cudaLimitPrintfFifoSize = 1, cudaLimitMallocHeapSize = 2, cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4, cudaLimitMaxL2FetchGranularity = 5, cudaLimitPersistingL2CacheSize = 6
};
enum cudaComputeMode {
  cudaComputeModeDefault = 0, cudaComputeModeExclusive = 1, cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly = 2, cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4, cudaMemAdviseSetAccessedBy = 5, cudaMemAdviseUnsetAccessedBy = 6
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX = 2, cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4, cudaDevAttrMaxGridDimX = 5, cudaDevAttrMaxGridDimY = 6, cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrTotalConstantMemory = 9, cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxPitch = 11, cudaDevAttrMaxRegistersPerBlock = 12, cudaDevAttrClockRate = 13,
  cudaDevAttrTextureAlignment = 14, cudaDevAttrGpuOverlap = 15, cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrKernelExecTimeout = 17, cudaDevAttrIntegrated = 18, cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20, cudaDevAttrSurfaceAlignment = 30, cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrEccEnabled = 32, cudaDevAttrPciBusId = 33, cudaDevAttrPciDeviceId = 34, cudaDevAttrTccDriver = 35,
  cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth = 37, cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrAsyncEngineCount = 40, cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrPciDomainId = 50, cudaDevAttrTexturePitchAlignment = 51, cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrGlobalL1CacheSupported = 79, cudaDevAttrLocalL1CacheSupported = 80,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83, cudaDevAttrIsMultiGpuBoard = 84, cudaDevAttrMultiGpuBoardGroupID = 85,
  cudaDevAttrHostNativeAtomicSupported = 86, cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
  cudaDevAttrPageableMemoryAccess = 88, cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrComputePreemptionSupported = 90, cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
  cudaDevAttrCooperativeLaunch = 95, cudaDevAttrCooperativeMultiDeviceLaunch = 96,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrCanFlushRemoteWrites = 98,
  cudaDevAttrHostRegisterSupported = 99, cudaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
  cudaDevAttrDirectManagedMemAccessFromHost = 101, cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrMaxPersistingL2CacheSize = 108, cudaDevAttrMaxAccessPolicyWindowSize = 109,
  cudaDevAttrReservedSharedMemoryPerBlock = 111, cudaDevAttrMemoryPoolsSupported = 115, cudaDevAttrClusterLaunch = 120,
  // What no device here has.
  cudaDevAttrMaxTexture1DWidth = 21, cudaDevAttrMaxTexture2DWidth = 22, cudaDevAttrMaxTexture2DHeight = 23,
  cudaDevAttrMaxTexture3DWidth = 24, cudaDevAttrMaxTexture3DHeight = 25, cudaDevAttrMaxTexture3DDepth = 26,
  cudaDevAttrMaxTexture2DLayeredWidth = 27, cudaDevAttrMaxTexture2DLayeredHeight = 28,
  cudaDevAttrMaxTexture2DLayeredLayers = 29, cudaDevAttrMaxTexture1DLayeredWidth = 42,
  cudaDevAttrMaxTexture1DLayeredLayers = 43, cudaDevAttrMaxTexture2DGatherWidth = 45,
  cudaDevAttrMaxTexture2DGatherHeight = 46, cudaDevAttrMaxTexture3DWidthAlt = 47, cudaDevAttrMaxTexture3DHeightAlt =
  48, cudaDevAttrMaxTexture3DDepthAlt = 49, cudaDevAttrMaxTextureCubemapWidth = 52,
  cudaDevAttrMaxTextureCubemapLayeredWidth = 53, cudaDevAttrMaxTextureCubemapLayeredLayers = 54,
  cudaDevAttrMaxSurface1DWidth = 55, cudaDevAttrMaxSurface2DWidth = 56, cudaDevAttrMaxSurface2DHeight = 57,
  cudaDevAttrMaxSurface3DWidth = 58, cudaDevAttrMaxSurface3DHeight = 59, cudaDevAttrMaxSurface3DDepth = 60,
  cudaDevAttrMaxSurface1DLayeredWidth = 61, cudaDevAttrMaxSurface1DLayeredLayers = 62,
  cudaDevAttrMaxSurface2DLayeredWidth = 63, cudaDevAttrMaxSurface2DLayeredHeight = 64,
  cudaDevAttrMaxSurface2DLayeredLayers = 65, cudaDevAttrMaxSurfaceCubemapWidth = 66,
  cudaDevAttrMaxSurfaceCubemapLayeredWidth = 67, cudaDevAttrMaxSurfaceCubemapLayeredLayers = 68,
  cudaDevAttrMaxTexture1DLinearWidth = 69, cudaDevAttrMaxTexture2DLinearWidth = 70,
  cudaDevAttrMaxTexture2DLinearHeight = 71, cudaDevAttrMaxTexture2DLinearPitch = 72,
  cudaDevAttrMaxTexture2DMipmappedWidth = 73, cudaDevAttrMaxTexture2DMipmappedHeight = 74,
  cudaDevAttrMaxTexture1DMipmappedWidth = 77, cudaDevAttrSparseCudaArraySupported = 112,
  cudaDevAttrHostRegisterReadOnlySupported = 113, cudaDevAttrTimelineSemaphoreInteropSupported = 114,
  cudaDevAttrGPUDirectRDMASupported = 116, cudaDevAttrGPUDirectRDMAFlushWritesOptions = 117,
  cudaDevAttrGPUDirectRDMAWritesOrdering = 118, cudaDevAttrMemoryPoolSupportedHandleTypes = 119,
  cudaDevAttrDeferredMappingCudaArraySupported = 121, cudaDevAttrIpcEventSupport = 125,
  cudaDevAttrMemSyncDomainCount = 126, cudaDevAttrNumaConfig = 130, cudaDevAttrNumaId = 131, cudaDevAttrMpsEnabled =
  133, cudaDevAttrHostNumaId = 134
};
enum cudaDeviceNumaConfig { cudaDeviceNumaConfigNone = 0, cudaDeviceNumaConfigNumaNode = 1 };

#define cudaStreamDefault 0x00u
#define cudaStreamNonBlocking 0x01u
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00u
#define cudaEventBlockingSync 0x01u
#define cudaEventDisableTiming 0x02u
#define cudaEventInterprocess 0x04u
#define cudaEventRecordDefault 0x00u
#define cudaEventRecordExternal 0x01u
#define cudaEventWaitDefault 0x00u
#define cudaEventWaitExternal 0x01u
#define cudaHostAllocDefault 0x00u
#define cudaHostAllocPortable 0x01u
#define cudaHostAllocMapped 0x02u
#define cudaHostAllocWriteCombined 0x04u
#define cudaHostRegisterDefault 0x00u
#define cudaHostRegisterPortable 0x01u
#define cudaHostRegisterMapped 0x02u
#define cudaHostRegisterIoMemory 0x04u
#define cudaHostRegisterReadOnly 0x08u
#define cudaMemAttachGlobal 0x01u
#define cudaMemAttachHost 0x02u
#define cudaMemAttachSingle 0x04u
#define cudaDeviceScheduleAuto 0x00u
#define cudaDeviceScheduleSpin 0x01u
#define cudaDeviceScheduleYield 0x02u
#define cudaDeviceScheduleBlockingSync 0x04u
#define cudaDeviceBlockingSync cudaDeviceScheduleBlockingSync
#define cudaDeviceScheduleMask 0x07u
#define cudaDeviceMapHost 0x08u
#define cudaDeviceLmemResizeToMax 0x10u
#define cudaDeviceMask 0xffu
#define cudaOccupancyDefault 0x00u
#define cudaOccupancyDisableCachingOverride 0x01u
#define cudaPeerAccessDefault 0x00u
#define CUDART_CB
#define cudaCpuDeviceId ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaHostFn_t)(void *data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

struct cudaUUID_t { char bytes[16]; };

struct cudaDeviceProp {
  char name[256];
  struct cudaUUID_t uuid;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;  // kHz
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment;
  int deviceOverlap;
  int multiProcessorCount;
  int kernelExecTimeoutEnabled;
  int integrated;
  int canMapHostMemory;
  int computeMode;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID, pciDeviceID, pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryClockRate;  // kHz
  int memoryBusWidth;   // bits
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, memoryPoolsSupported;
  int singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, hostNativeAtomicSupported;
  int cooperativeMultiDeviceLaunch, multiGpuBoardGroupID, persistingL2CacheMaxSize, accessPolicyMaxWindowSize;
  int clusterLaunch;
  // Of textures and surfaces, which there are none of: 0.
  size_t texturePitchAlignment, surfaceAlignment;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
  int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
  int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
  int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
};

struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
  int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void *devicePointer;
  void *hostPointer;
};

// What copies and memory of three dimensions take: widths in bytes, where no array takes part.
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaMemcpy3DParms {
  struct cudaArray *srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  struct cudaArray *dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};

// Which part of memory a device may keep in its cache: a hint, which is taken and not used.
enum cudaAccessProperty { cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting };
struct cudaAccessPolicyWindow {
  void *base_ptr;
  size_t num_bytes;
  float hitRatio;
  enum cudaAccessProperty hitProp, missProp;
};
enum cudaSynchronizationPolicy {
  cudaSyncPolicyAuto = 1, cudaSyncPolicySpin = 2, cudaSyncPolicyYield = 3, cudaSyncPolicyBlockingSync = 4
};

// What cudaLaunchKernelEx takes; of the attributes there are those that change nothing, and the one that makes a launch
// cooperative.
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeAccessPolicyWindow = 1, cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3, cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6, cudaLaunchAttributePriority = 8
};
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative, programmaticStreamSerializationAllowed, priority;
  struct { unsigned int x, y, z; } clusterDim;
  struct cudaAccessPolicyWindow accessPolicyWindow;
  enum cudaSynchronizationPolicy syncPolicy;
};
#define cudaStreamAttrID enum cudaLaunchAttributeID
#define cudaStreamAttrValue union cudaLaunchAttributeValue
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
struct cudaLaunchAttribute { enum cudaLaunchAttributeID id; char pad[4]; union cudaLaunchAttributeValue val; };
struct cudaLaunchConfig_st {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  struct cudaLaunchAttribute *attrs;
  unsigned int numAttrs;
};
typedef struct cudaLaunchConfig_st cudaLaunchConfig_t;

// A device's pool of stream-ordered memory, which gives back what is freed at once.
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1, cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3, cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5, cudaMemPoolAttrReservedMemHigh = 6, cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8
};

// Where managed memory is to be, as CUDA 13 says it.
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid = 0, cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2,
  cudaMemLocationTypeHostNuma = 3
};
struct cudaMemLocation { enum cudaMemLocationType type; int id; };
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone = 0, cudaMemHandleTypePosixFileDescriptor = 1, cudaMemHandleTypeWin32 = 2,
  cudaMemHandleTypeWin32Kmt = 4, cudaMemHandleTypeFabric = 8
};
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1 };

enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1, cudaDevP2PAttrAccessSupported = 2, cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4
};

// What programs with textures name besides; the functions of the device that read them are refused by name.
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder
  };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear,
  cudaResourceTypePitch2D };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone };
#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureTypeCubemap 0x0c
// What textures and surfaces are made of: there to be named, and refused with cudaErrorNotSupported.
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef struct cudaArray *cudaArray_t;
struct cudaResourceViewDesc;
#include "drawloom/textures.h"

#ifdef __cplusplus
#define __DL_DEFAULT(value) = value
extern "C" {
#else
#define __DL_DEFAULT(value)
#endif
// Errors
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

// Devices
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *properties);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaSetValidDevices(int *devices, int count);
cudaError_t cudaThreadExit(void);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t kept);
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer);
cudaError_t cudaCtxResetPersistingL2Cache(void);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);

// Memory
cudaError_t cudaMalloc(void **memory, size_t size);
cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent);
cudaError_t cudaMallocHost(void **memory, size_t size);
cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned int flags);
cudaError_t cudaMallocManaged(void **memory, size_t size, unsigned int flags __DL_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaHostRegister(void *memory, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *what);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *what, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent,
                              cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset __DL_DEFAULT(0),
                               enum cudaMemcpyKind kind __DL_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset __DL_DEFAULT(0),
                                 enum cudaMemcpyKind kind __DL_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaGetSymbolAddress(void **memory, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);
cudaError_t cudaMemset(void *memory, int value, size_t size);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t size, int device, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaMemAdvise(const void *memory, size_t size, enum cudaMemoryAdvise advice, int device);

// Streams and events
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue *value);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags __DL_DEFAULT(0));
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *memory, size_t size __DL_DEFAULT(0),
                                     unsigned int flags __DL_DEFAULT(cudaMemAttachSingle));
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream __DL_DEFAULT(0));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream __DL_DEFAULT(0),
                                     unsigned int flags __DL_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);

// Kernels
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *configuration, const void *function, void **arguments);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t cudaFuncGetName(const char **name, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_threads,
                                                          size_t dynamic_shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                   int block_threads, size_t dynamic_shared,
                                                                   unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared __DL_DEFAULT(0),
                                         struct CUstream_st *stream __DL_DEFAULT(0));
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

// Profiler ranges: accepted, and nobody listens.
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

// What is refused with cudaErrorNotSupported
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                            size_t height __DL_DEFAULT(0), unsigned int flags __DL_DEFAULT(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t __dl_not_supported(void);
#ifdef __cplusplus
}
#endif
#include "drawloom/graphs.h"
#ifdef __cplusplus

#ifndef __DL_RUNTIME_LIBRARY
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  return cudaExtent{width, height, depth};
}
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return cudaPos{x, y, z}; }
static inline cudaPitchedPtr make_cudaPitchedPtr(void *memory, size_t pitch, size_t width, size_t height) {
  return cudaPitchedPtr{memory, pitch, width, height};
}
#include "drawloom/refused_calls.h"
template <class T> cudaError_t cudaMalloc(T **memory, size_t size) { return cudaMalloc((void **)memory, size); }
template <class T> cudaError_t cudaMallocPitch(T **memory, size_t *pitch, size_t width, size_t height) {
  return cudaMallocPitch((void **)memory, pitch, width, height);
}
template <class T> cudaError_t cudaMallocHost(T **memory, size_t size, unsigned int flags = 0) {
  return cudaHostAlloc((void **)memory, size, flags);
}
template <class T> cudaError_t cudaHostAlloc(T **memory, size_t size, unsigned int flags) {
  return cudaHostAlloc((void **)memory, size, flags);
}
template <class T> cudaError_t cudaMallocManaged(T **memory, size_t size, unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void **)memory, size, flags);
}
template <class T> cudaError_t cudaMallocAsync(T **memory, size_t size, cudaStream_t stream) {
  return cudaMallocAsync((void **)memory, size, stream);
}
template <class T> cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
  return cudaHostGetDevicePointer((void **)device, host, flags);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t size, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol((const void *)&symbol, from, size, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(to, (const void *)&symbol, size, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t size, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
  return cudaMemcpyToSymbolAsync((const void *)&symbol, from, size, offset, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t size, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0) {
  return cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, size, offset, kind, stream);
}
inline int __dl_device_of(cudaMemLocation location) {
  return location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId;
}
inline cudaError_t cudaMemPrefetchAsync(const void *memory, size_t size, cudaMemLocation location, unsigned int,
                                        cudaStream_t stream = 0) {
  return cudaMemPrefetchAsync(memory, size, __dl_device_of(location), stream);
}
inline cudaError_t cudaMemAdvise(const void *memory, size_t size, cudaMemoryAdvise advice, cudaMemLocation location) {
  return cudaMemAdvise(memory, size, advice, __dl_device_of(location));
}
template <class T> cudaError_t cudaGetSymbolAddress(void **memory, const T &symbol) {
  return cudaGetSymbolAddress(memory, (const void *)&symbol);
}
template <class T>
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *dependencies, size_t count, const T &symbol,
                                           const void *from, size_t size, size_t offset, cudaMemcpyKind kind) {
  return cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, count, (const void *)&symbol, from, size, offset,
                                        kind);
}
template <class T>
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                             const cudaGraphNode_t *dependencies, size_t count, void *to,
                                             const T &symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
  return cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, count, to, (const void *)&symbol, size, offset,
                                          kind);
}
template <class T> cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol) {
  return cudaGetSymbolSize(size, (const void *)&symbol);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
template <class T>
cudaError_t cudaLaunchKernel(T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                             cudaStream_t stream = 0) {
  return cudaLaunchKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class T>
cudaError_t cudaLaunchCooperativeKernel(T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                                        cudaStream_t stream = 0) {
  return cudaLaunchCooperativeKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *configuration, void (*function)(P...), A &&...arguments) {
  return [&](P... values) {
    void *all[] = {(void *)&values..., nullptr};
    return cudaLaunchKernelExC(configuration, (const void *)function, all);
  }(static_cast<A &&>(arguments)...);
}
template <class T>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, T *function, int blocks, int threads) {
  return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)function, blocks, threads);
}
template <class T> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function) {
  return cudaFuncGetAttributes(attributes, (const void *)function);
}
template <class T> cudaError_t cudaFuncGetName(const char **name, T *function) {
  return cudaFuncGetName(name, (const void *)function);
}
template <class T> cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute((const void *)function, attribute, value);
}
template <class T> cudaError_t cudaFuncSetCacheConfig(T *function, cudaFuncCache config) {
  return cudaFuncSetCacheConfig((const void *)function, config);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T function, int block_threads,
                                                          size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)function, block_threads, dynamic_shared);
}

// The block size, a multiple of a warp, that keeps most threads on a multiprocessor, and the blocks that fill the
// device; `shared_of` gives the dynamic shared memory of a block of so many threads.
template <class F, class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, T function, F shared_of,
                                                           int most = 0) {
  int device = 0, processors = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = cudaGetDevice(&device);
  if (!error) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (!error) error = cudaFuncGetAttributes(&attributes, (const void *)function);
  if (error) return error;
  if (most <= 0 || most > attributes.maxThreadsPerBlock) most = attributes.maxThreadsPerBlock;
  int best = 0;
  for (int threads = most / 32 * 32; threads >= 32; threads -= 32) {
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)function, threads, shared_of(threads));
    if (error) return error;
    if (blocks * threads > best) {
      best = blocks * threads;
      *block = threads;
      *grid = blocks * processors;
    }
  }
  return best ? cudaSuccess : cudaErrorInvalidValue;
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, T function, size_t dynamic_shared = 0,
                                               int most = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, function, [=](int) { return dynamic_shared; }, most);
}
template <class F, class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *grid, int *block, T function, F shared_of,
                                                                    int most = 0, unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, shared_of, most);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, T function, size_t dynamic_shared = 0,
                                                        int most = 0, unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, function, dynamic_shared, most);
}
#endif
#endif
#undef __DL_DEFAULT
