// prints: refused: 0 of 4 wrong
// What Drawloom does not have says so by its code: textures, surfaces, arrays, conditional nodes of graphs.
#include "check.h"

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
  return report("refused", wrong, 4);
}
