// cpu only
// prints: destroyed: 0 of 5 wrong
// Streams and events that are destroyed are none any longer: an event was used after it was freed.
#include "check.h"

int main() {
  cudaStream_t stream;
  cudaEvent_t event;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaEventDestroy(event));
  long wrong = (cudaEventRecord(event) != cudaErrorInvalidResourceHandle);
  wrong += (cudaEventQuery(event) != cudaErrorInvalidResourceHandle);
  wrong += (cudaEventDestroy(event) != cudaErrorInvalidResourceHandle);
  wrong += (cudaStreamSynchronize(stream) != cudaErrorInvalidResourceHandle);
  wrong += (cudaStreamWaitEvent(nullptr, event) != cudaErrorInvalidResourceHandle);
  return report("destroyed", wrong, 5);
}
