// Streams whose work is captured into a graph instead of done (CUDA C++ Programming Guide, "Creating a Graph Using Stream
// Capture"): which they are, and what a capture forbids.
#pragma once
#include <functional>

#include "graphs.h"

namespace drawloom {

class Captures {
 public:
  // Whether any stream is captured, or any event was last recorded in one that was. Costs nothing where none is.
  static bool any();

  static cudaError_t begin(Device &device, cudaStream_t stream, CUgraph_st *into, const cudaGraphNode_t *dependencies,
                           size_t count, cudaStreamCaptureMode mode);
  static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph);
  static cudaError_t info(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                          cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count);
  static cudaError_t update(cudaStream_t stream, const cudaGraphNode_t *dependencies, size_t count, bool replaces);
  static void exchange(cudaStreamCaptureMode &mode);
  // The handle of a graph that lives until it is destroyed.
  static CUgraph_st *graph();

  // Adds an operation to the capture of a stream; `captured` is false where none goes on and the stream is to do it.
  static cudaError_t add(cudaStream_t stream, bool &captured, const std::function<cudaError_t(Operation &)> &make);
  static cudaError_t record(cudaEvent_t event, cudaStream_t stream, bool &captured);
  static cudaError_t wait(Device &device, cudaStream_t stream, cudaEvent_t event, bool &captured);

  // What of a call a capture forbids: to wait for or ask a stream, an event, a device; or what may do so, as allocations.
  static cudaError_t forbid_stream(cudaStream_t stream);
  static cudaError_t forbid_event(cudaEvent_t event);
  static cudaError_t forbid_device();
  static cudaError_t forbid_unsafe();
  // A synchronous call also gives work to the legacy default stream.
  static cudaError_t forbid_synchronous();
  // What a capture cannot hold.
  static cudaError_t forbid_capture(cudaStream_t stream);
  static void forget(cudaEvent_t event);
  static void forget(cudaStream_t stream);
};

}  // namespace drawloom
