// Errors and devices in CUDA's samples: calls that end the program when they fail, and the choice of a device.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper_string.h"

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

inline const char *_cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }

template <typename T> void check(T result, char const *const function, const char *const file, int const line) {
  if (!result) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, static_cast<unsigned int>(result),
          _cudaGetErrorEnum(result), function);
  exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

inline cudaError_t __dl_tell_last_error(const char *message, const char *file, const int line) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message,
            static_cast<int>(error), cudaGetErrorString(error));
  return error;
}
inline void __getLastCudaError(const char *message, const char *file, const int line) {
  if (__dl_tell_last_error(message, file, line) != cudaSuccess) exit(EXIT_FAILURE);
}
inline void __printLastCudaError(const char *message, const char *file, const int line) {
  __dl_tell_last_error(message, file, line);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)

inline int ftoi(float value) { return static_cast<int>(value >= 0 ? value + 0.5f : value - 0.5f); }

// Cores of a multiprocessor and the name of the generation, by compute capability; the newest for what is newer.
struct __dl_generation {
  int compute, cores;
  const char *name;
};
inline const __dl_generation &__dl_generation_of(int major, int minor) {
  static const __dl_generation known[] = {
      {30, 192, "Kepler"},     {50, 128, "Maxwell"}, {60, 64, "Pascal"},   {61, 128, "Pascal"},    {70, 64, "Volta"},
      {72, 64, "Xavier"},      {75, 64, "Turing"},   {80, 64, "Ampere"},   {86, 128, "Ampere"},    {89, 128, "Ada"},
      {90, 128, "Hopper"},     {100, 128, "Blackwell"}};
  const __dl_generation *found = known;
  for (const __dl_generation &one : known)
    if (one.compute <= major * 10 + minor) found = &one;
  return *found;
}
inline int _ConvertSMVer2Cores(int major, int minor) { return __dl_generation_of(major, minor).cores; }
inline const char *_ConvertSMVer2ArchName(int major, int minor) { return __dl_generation_of(major, minor).name; }

inline int __dl_device_count() {
  int count = 0;
  checkCudaErrors(cudaGetDeviceCount(&count));
  if (count == 0) {
    fprintf(stderr, "no devices supporting CUDA\n");
    exit(EXIT_FAILURE);
  }
  return count;
}
inline int __dl_device_attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  checkCudaErrors(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

inline int gpuDeviceInit(int device) {
  const int count = __dl_device_count();
  if (device < 0) device = 0;
  if (device >= count) {
    fprintf(stderr, "gpuDeviceInit (-device=%d) is not a valid GPU device: there are %d\n", device, count);
    return -device;
  }
  if (__dl_device_attribute(cudaDevAttrComputeMode, device) == cudaComputeModeProhibited) {
    fprintf(stderr, "Error: device is running in <Compute Mode Prohibited>, no threads can use cudaSetDevice().\n");
    return -1;
  }
  checkCudaErrors(cudaSetDevice(device));
  return device;
}

inline int gpuGetMaxGflopsDeviceId() {
  const int count = __dl_device_count();
  int best = 0;
  double most = -1;
  for (int device = 0; device < count; device++) {
    if (__dl_device_attribute(cudaDevAttrComputeMode, device) == cudaComputeModeProhibited) continue;
    const int major = __dl_device_attribute(cudaDevAttrComputeCapabilityMajor, device);
    const int minor = __dl_device_attribute(cudaDevAttrComputeCapabilityMinor, device);
    const double speed = double(__dl_device_attribute(cudaDevAttrMultiProcessorCount, device)) *
                         _ConvertSMVer2Cores(major, minor) * __dl_device_attribute(cudaDevAttrClockRate, device);
    if (speed > most) most = speed, best = device;
  }
  return best;
}

inline int findCudaDevice(int argc, const char **argv) {
  int device;
  if (checkCmdLineFlag(argc, argv, "device")) {
    device = gpuDeviceInit(getCmdLineArgumentInt(argc, argv, "device"));
    if (device < 0) {
      printf("exiting...\n");
      exit(EXIT_FAILURE);
    }
  } else {
    device = gpuGetMaxGflopsDeviceId();
    checkCudaErrors(cudaSetDevice(device));
  }
  const int major = __dl_device_attribute(cudaDevAttrComputeCapabilityMajor, device);
  const int minor = __dl_device_attribute(cudaDevAttrComputeCapabilityMinor, device);
  printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device, _ConvertSMVer2ArchName(major, minor), major,
         minor);
  return device;
}

inline int findIntegratedGPU() {
  const int count = __dl_device_count();
  for (int device = 0; device < count; device++) {
    if (!__dl_device_attribute(cudaDevAttrIntegrated, device)) continue;
    checkCudaErrors(cudaSetDevice(device));
    return device;
  }
  fprintf(stderr, "CUDA error: No Integrated GPU found that supports CUDA.\n");
  exit(EXIT_FAILURE);
}

inline bool checkCudaCapabilities(int major, int minor) {
  int device = 0;
  checkCudaErrors(cudaGetDevice(&device));
  const int has_major = __dl_device_attribute(cudaDevAttrComputeCapabilityMajor, device);
  const int has_minor = __dl_device_attribute(cudaDevAttrComputeCapabilityMinor, device);
  const bool enough = has_major > major || (has_major == major && has_minor >= minor);
  if (enough)
    printf("  Device %d: compute capability %d.%d\n", device, has_major, has_minor);
  else
    printf("  No GPU device was found that can support CUDA compute capability %d.%d.\n", major, minor);
  return enough;
}
