// What host code fills in to describe textures, surfaces and arrays (CUDA Runtime API 12, "Data types"). CUB's headers
// have functions with these; the calls that take them return cudaErrorNotSupported.
#pragma once

struct cudaChannelFormatDesc {
  int x, y, z, w;  // the bits of each component
  enum cudaChannelFormatKind f;
};
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
struct cudaResourceDesc {
  enum cudaResourceType resType;
  union {
    struct { cudaArray_t array; } array;
    struct { cudaMipmappedArray_t mipmap; } mipmap;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
    struct { int reserved[32]; } reserved;
  } res;
  unsigned int flags;
};
struct cudaTextureDesc {
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

#ifdef __cplusplus
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return cudaChannelFormatDesc{x, y, z, w, kind};
}
// Numbers have one component, vectors `x` and its like.
template <class T, class X> cudaChannelFormatDesc __dl_channels(X) {
  const int bits = 8 * (int)sizeof(X), count = (int)(sizeof(T) / sizeof(X));
  const cudaChannelFormatKind kind = static_cast<X>(0.5f) != static_cast<X>(0)   ? cudaChannelFormatKindFloat
                                     : static_cast<X>(-1) < static_cast<X>(0) ? cudaChannelFormatKindSigned
                                                                                : cudaChannelFormatKindUnsigned;
  return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind);
}
template <class T> auto __dl_channels_of(int) -> decltype(T().x, cudaChannelFormatDesc()) {
  return __dl_channels<T>(T().x);
}
template <class T> cudaChannelFormatDesc __dl_channels_of(long) { return __dl_channels<T>(T()); }
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc() { return __dl_channels_of<T>(0); }
#endif
