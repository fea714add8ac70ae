// prints: refused: 0 of 6 wrong
// What Drawloom does not have says so by its code: textures, surfaces, arrays, graphs.
#include "check.h"

int main() {
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  cudaArray_t array;
  long wrong = cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr) != cudaErrorNotSupported;
  wrong += cudaCreateSurfaceObject(&surface, nullptr) != cudaErrorNotSupported;
  wrong += cudaMallocArray(&array, nullptr, 16) != cudaErrorNotSupported;
  wrong += cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) != cudaErrorNotSupported;
  cudaGraphNode_t node;
  cudaGraphExec_t graph;
  wrong += cudaGraphAddKernelNode(&node, nullptr, nullptr, 0, nullptr) != cudaErrorNotSupported;
  wrong += cudaGraphInstantiate(&graph, nullptr, 0) != cudaErrorNotSupported || cudaGetLastError() == cudaSuccess;
  return report("refused", wrong, 6);
}
