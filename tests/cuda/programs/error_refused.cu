// prints: refused: 0 of 10 wrong
// What Drawloom does not have says so by its code: textures, surfaces, arrays, conditional nodes of graphs. The types
// that describe textures are there, as headers use them; attributes of streams that are hints are taken.
#include "check.h"

// As in CUB's iterator over textures.
template <class T> cudaError_t bind(cudaTextureObject_t *texture) {
  cudaResourceDesc resource = {};
  cudaTextureDesc how = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.desc = cudaCreateChannelDesc<T>();
  resource.res.linear.sizeInBytes = resource.res.linear.desc.y == 32 ? 64 : 0;
  how.readMode = cudaReadModeElementType;
  return cudaCreateTextureObject(texture, &resource, &how, nullptr);
}

int main() {
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  cudaArray_t array;
  long wrong = cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr) != cudaErrorNotSupported;
  wrong += cudaCreateSurfaceObject(&surface, nullptr) != cudaErrorNotSupported;
  wrong += cudaMallocArray(&array, nullptr, 16) != cudaErrorNotSupported;
  cudaGraphNode_t node;
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  wrong += cudaGraphAddNode(&node, graph, nullptr, 0, nullptr) != cudaErrorNotSupported;
  wrong += bind<float2>(&texture) != cudaErrorNotSupported;
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), one = cudaCreateChannelDesc<int>();
  wrong += bytes.x != 8 || bytes.y != 8 || bytes.z != 8 || bytes.w != 8 || bytes.f != cudaChannelFormatKindUnsigned;
  wrong += one.x != 32 || one.y || one.z || one.w || one.f != cudaChannelFormatKindSigned;
  cudaStreamAttrValue attribute = {};
  attribute.accessPolicyWindow = cudaAccessPolicyWindow{nullptr, 0, 1, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
  wrong += cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, &attribute) != cudaSuccess;
  wrong += cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, nullptr) != cudaErrorInvalidValue;
  wrong += cudaStreamSetAttribute(nullptr, cudaLaunchAttributeClusterDimension, &attribute) != cudaErrorNotSupported;
  return report("refused", wrong, 10);
}
