// The driver interface's types, and its functions as far as libraries name their types: CUB and Thrust look them up when
// they run. A program that calls one is told so by the compiler.
#pragma once
#include <cuda_runtime_api.h>

typedef unsigned long cuuint64_t;
typedef unsigned int cuuint32_t;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef cudaGraph_t CUgraph;
typedef cudaGraphNode_t CUgraphNode;
typedef cudaMemPool_t CUmemoryPool;
typedef cudaHostFn_t CUhostFn;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_INVALID_HANDLE = 400, CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_NOT_SUPPORTED = 801, CUDA_ERROR_UNKNOWN = 999
} CUresult;
typedef enum CUdriverProcAddressQueryResult_enum {
  CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;
typedef enum CUdriverProcAddress_flags_enum { CU_GET_PROC_ADDRESS_DEFAULT = 0 } CUdriverProcAddress_flags;
typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
} CUdevice_attribute;
typedef enum CUfunction_attribute_enum {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
} CUfunction_attribute;
typedef enum CUevent_wait_flags_enum { CU_EVENT_WAIT_DEFAULT = 0 } CUevent_wait_flags;
typedef enum CUgreenCtxCreate_flags_enum { CU_GREEN_CTX_DEFAULT_STREAM = 1 } CUgreenCtxCreate_flags;
typedef enum CUmemorytype_enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 } CUmemorytype;
typedef enum CUpointer_attribute_enum {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_MAPPED = 13, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
} CUpointer_attribute;
typedef enum CUmemPool_attribute_enum {
  CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
  CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7, CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8
} CUmemPool_attribute;
typedef enum CUmemAccess_flags_enum {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0, CU_MEM_ACCESS_FLAGS_PROT_READ = 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;
typedef enum CUmemAllocationType_enum {
  CU_MEM_ALLOCATION_TYPE_INVALID = 0, CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_ALLOCATION_TYPE_MANAGED = 2
} CUmemAllocationType;
typedef enum CUmemAllocationHandleType_enum { CU_MEM_HANDLE_TYPE_NONE = 0 } CUmemAllocationHandleType;
typedef enum CUmemLocationType_enum {
  CU_MEM_LOCATION_TYPE_NONE = 0, CU_MEM_LOCATION_TYPE_INVALID = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2, CU_MEM_LOCATION_TYPE_HOST_NUMA = 3
} CUmemLocationType;
typedef enum CUmemcpySrcAccessOrder_enum {
  CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
  CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3
} CUmemcpySrcAccessOrder;
typedef enum CUlaunchAttributeID_enum {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6, CU_LAUNCH_ATTRIBUTE_PRIORITY = 8
} CUlaunchAttributeID;
typedef enum CUtensorMapDataType_enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0, CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1, CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3, CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4, CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7, CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ = 10,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ = 12,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B = 13, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B = 14,
  CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B = 15
} CUtensorMapDataType;
typedef enum CUtensorMapInterleave_enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_INTERLEAVE_16B = 1, CU_TENSOR_MAP_INTERLEAVE_32B = 2
} CUtensorMapInterleave;
typedef enum CUtensorMapSwizzle_enum {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_32B = 1, CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B = 4,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B = 5, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B = 6
} CUtensorMapSwizzle;
typedef enum CUtensorMapL2promotion_enum {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0, CU_TENSOR_MAP_L2_PROMOTION_L2_64B = 1, CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3
} CUtensorMapL2promotion;
typedef enum CUtensorMapFloatOOBfill_enum {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1
} CUtensorMapFloatOOBfill;
typedef enum CUjit_option_enum { CU_JIT_MAX_REGISTERS = 0 } CUjit_option;
typedef enum CUlibraryOption_enum { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE = 0 } CUlibraryOption;

typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;
typedef struct CUmemAccessDesc_st {
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;
typedef struct CUmemPoolProps_st {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;
typedef struct CUmemcpyAttributes_st {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint, dstLocHint;
  unsigned int flags;
} CUmemcpyAttributes;
typedef union CUlaunchAttributeValue_union {
  char pad[64];
  int cooperative, programmaticStreamSerializationAllowed, priority;
  struct {
    unsigned int x, y, z;
  } clusterDim;
} CUlaunchAttributeValue;
typedef struct CUlaunchAttribute_st {
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig_st {
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned int numAttrs;
} CUlaunchConfig;
typedef struct CUDA_KERNEL_NODE_PARAMS_st {
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef CUlaunchAttributeID CUkernelNodeAttrID;
typedef CUlaunchAttributeValue CUkernelNodeAttrValue;
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);
#if defined(__cplusplus)
typedef struct CUtensorMap_st { alignas(128) unsigned long long opaque[16]; } CUtensorMap;
#endif

#if defined(__cplusplus)
#define __DL_DRIVER(name, ...) \
  extern "C" CUresult name(__VA_ARGS__) __attribute__((error("the driver's interface, cuInit and its like, is not supported")));
__DL_DRIVER(cuInit, unsigned int)
__DL_DRIVER(cuDriverGetVersion, int *)
__DL_DRIVER(cuDeviceGet, CUdevice *, int)
__DL_DRIVER(cuDeviceGetCount, int *)
__DL_DRIVER(cuDeviceGetName, char *, int, CUdevice)
__DL_DRIVER(cuDeviceTotalMem, size_t *, CUdevice)
__DL_DRIVER(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice)
__DL_DRIVER(cuDeviceGetDefaultMemPool, CUmemoryPool *, CUdevice)
__DL_DRIVER(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice)
__DL_DRIVER(cuDevicePrimaryCtxRelease, CUdevice)
__DL_DRIVER(cuDevicePrimaryCtxGetState, CUdevice, unsigned int *, int *)
__DL_DRIVER(cuCtxPushCurrent, CUcontext)
__DL_DRIVER(cuCtxPopCurrent, CUcontext *)
__DL_DRIVER(cuCtxGetCurrent, CUcontext *)
__DL_DRIVER(cuCtxGetDevice, CUdevice *)
__DL_DRIVER(cuLibraryLoadData, CUlibrary *, const void *, CUjit_option *, void **, unsigned int, CUlibraryOption *,
            void **, unsigned int)
__DL_DRIVER(cuLibraryUnload, CUlibrary)
__DL_DRIVER(cuLibraryGetKernel, CUkernel *, CUlibrary, const char *)
__DL_DRIVER(cuKernelGetFunction, CUfunction *, CUkernel)
__DL_DRIVER(cuKernelGetLibrary, CUlibrary *, CUkernel)
__DL_DRIVER(cuLibraryGetGlobal, CUdeviceptr *, size_t *, CUlibrary, const char *)
__DL_DRIVER(cuLibraryGetManaged, CUdeviceptr *, size_t *, CUlibrary, const char *)
__DL_DRIVER(cuKernelGetAttribute, int *, CUfunction_attribute, CUkernel, CUdevice)
__DL_DRIVER(cuKernelGetName, const char **, CUkernel)
__DL_DRIVER(cuMemFree, CUdeviceptr)
__DL_DRIVER(cuMemAllocHost, void **, size_t)
__DL_DRIVER(cuMemFreeHost, void *)
__DL_DRIVER(cuMemAllocManaged, CUdeviceptr *, size_t, unsigned int)
__DL_DRIVER(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, size_t, CUstream)
__DL_DRIVER(cuMemcpyBatchAsync, CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *,
            size_t, size_t *, CUstream)
__DL_DRIVER(cuMemsetD8Async, CUdeviceptr, unsigned char, size_t, CUstream)
__DL_DRIVER(cuMemsetD16Async, CUdeviceptr, unsigned short, size_t, CUstream)
__DL_DRIVER(cuMemsetD32Async, CUdeviceptr, unsigned int, size_t, CUstream)
__DL_DRIVER(cuMemFreeAsync, CUdeviceptr, CUstream)
__DL_DRIVER(cuMemPoolTrimTo, CUmemoryPool, size_t)
__DL_DRIVER(cuMemPoolSetAttribute, CUmemoryPool, CUmemPool_attribute, void *)
__DL_DRIVER(cuMemPoolGetAttribute, CUmemoryPool, CUmemPool_attribute, void *)
__DL_DRIVER(cuMemPoolSetAccess, CUmemoryPool, const CUmemAccessDesc *, size_t)
__DL_DRIVER(cuMemPoolGetAccess, CUmemAccess_flags *, CUmemoryPool, CUmemLocation *)
__DL_DRIVER(cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *)
__DL_DRIVER(cuMemPoolDestroy, CUmemoryPool)
__DL_DRIVER(cuMemGetDefaultMemPool, CUmemoryPool *, CUmemLocation *, CUmemAllocationType)
__DL_DRIVER(cuMemAllocFromPoolAsync, CUdeviceptr *, size_t, CUmemoryPool, CUstream)
__DL_DRIVER(cuPointerGetAttribute, void *, CUpointer_attribute, CUdeviceptr)
__DL_DRIVER(cuPointerGetAttributes, unsigned int, CUpointer_attribute *, void **, CUdeviceptr)
__DL_DRIVER(cuStreamCreateWithPriority, CUstream *, unsigned int, int)
__DL_DRIVER(cuStreamGetPriority, CUstream, int *)
__DL_DRIVER(cuStreamGetDevice, CUstream, CUdevice *)
__DL_DRIVER(cuStreamGetId, CUstream, unsigned long long *)
__DL_DRIVER(cuStreamGetCtx, CUstream, CUcontext *)
__DL_DRIVER(cuStreamGetCtx_v2, CUstream, CUcontext *, CUgreenCtx *)
__DL_DRIVER(cuStreamWaitEvent, CUstream, CUevent, unsigned int)
__DL_DRIVER(cuStreamAddCallback, CUstream, CUstreamCallback, void *, unsigned int)
__DL_DRIVER(cuStreamQuery, CUstream)
__DL_DRIVER(cuStreamSynchronize, CUstream)
__DL_DRIVER(cuStreamDestroy, CUstream)
__DL_DRIVER(cuEventCreate, CUevent *, unsigned int)
__DL_DRIVER(cuEventRecord, CUevent, CUstream)
__DL_DRIVER(cuEventQuery, CUevent)
__DL_DRIVER(cuEventSynchronize, CUevent)
__DL_DRIVER(cuEventDestroy, CUevent)
__DL_DRIVER(cuEventElapsedTime, float *, CUevent, CUevent)
__DL_DRIVER(cuFuncGetAttribute, int *, CUfunction_attribute, CUfunction)
__DL_DRIVER(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)
__DL_DRIVER(cuFuncLoad, CUfunction)
__DL_DRIVER(cuLaunchKernel, CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned
            int, unsigned int, CUstream, void **, void **)
__DL_DRIVER(cuLaunchKernelEx, const CUlaunchConfig *, CUfunction, void **, void **)
__DL_DRIVER(cuLaunchHostFunc, CUstream, CUhostFn, void *)
__DL_DRIVER(cuGraphAddKernelNode, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS
            *)
__DL_DRIVER(cuGraphKernelNodeSetAttribute, CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue *)
__DL_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, CUfunction, int, size_t)
__DL_DRIVER(cuTensorMapEncodeTiled, CUtensorMap *, CUtensorMapDataType, unsigned int, void *, const cuuint64_t *,
            const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
            CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
__DL_DRIVER(cuDeviceCanAccessPeer, int *, CUdevice, CUdevice)
__DL_DRIVER(cuGetProcAddress, const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *)
__DL_DRIVER(cuGreenCtxCreate, CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned int)
__DL_DRIVER(cuGreenCtxDestroy, CUgreenCtx)
__DL_DRIVER(cuCtxFromGreenCtx, CUcontext *, CUgreenCtx)
__DL_DRIVER(cuGreenCtxGetId, CUgreenCtx, unsigned long long *)
#undef __DL_DRIVER
#endif
