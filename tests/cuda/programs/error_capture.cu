// prints: errors of captures: 0 of 20 wrong
// What a capture forbids, with the codes of the CUDA C++ Programming Guide, "Prohibited and Unhandled Operations".
#include "check.h"
#include <thread>

__global__ void touch(int *data) { *data += 1; }

static int wrong = 0;
static cudaStream_t stream, other;
static cudaEvent_t event;
static int *data;

// Whether a call inside a capture gives `expected`, and the capture then ends with `at_end` and without a graph.
template <class F> static void expect(cudaError_t expected, F call, cudaError_t at_end = cudaErrorStreamCaptureInvalidated,
                                      cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, mode));
  touch<<<1, 1, 0, stream>>>(data);
  wrong += call() != expected;
  wrong += cudaStreamEndCapture(stream, &graph) != at_end || (graph != nullptr) != (at_end == cudaSuccess);
  if (graph) CHECK(cudaGraphDestroy(graph));
  cudaGetLastError();
}

int main() {
  CHECK(cudaMallocManaged(&data, sizeof(int)));
  *data = 0;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  void *memory = nullptr;
  expect(cudaErrorStreamCaptureUnsupported, [] { return cudaStreamSynchronize(stream); });
  expect(cudaErrorStreamCaptureUnsupported, [] { return cudaDeviceSynchronize(); });
  expect(cudaErrorStreamCaptureUnsupported, [&] { return cudaMalloc(&memory, 16); });
  expect(cudaErrorStreamCaptureImplicit, [] { return cudaMemcpy(data, data, 4, cudaMemcpyDefault); });
  expect(cudaErrorStreamCaptureImplicit, [] {
    touch<<<1, 1>>>(data);
    return cudaGetLastError();
  });
  expect(cudaErrorStreamCaptureIsolation, [] { return cudaStreamWaitEvent(stream, event, 0); });
  expect(cudaErrorIllegalState, [] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); }, cudaSuccess);
  expect(cudaSuccess, [&] { return cudaMalloc(&memory, 16); }, cudaSuccess, cudaStreamCaptureModeRelaxed);
  expect(cudaErrorStreamCaptureWrongThread, [] {
    cudaError_t error;
    std::thread([&] {
      cudaGraph_t graph;
      error = cudaStreamEndCapture(stream, &graph);
    }).join();
    return error;
  }, cudaSuccess);
  expect(cudaSuccess, [] {  // a fork that does not come back
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    touch<<<1, 1, 0, other>>>(data);
    return cudaGetLastError();
  }, cudaErrorStreamCaptureUnjoined);
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t graph;
  wrong += cudaStreamEndCapture(stream, &graph) != cudaErrorIllegalState;
  wrong += cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) != cudaErrorStreamCaptureUnsupported;
  wrong += *data != 0;  // nothing was done meanwhile
  return report("errors of captures", wrong, 20);
}
