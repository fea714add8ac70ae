// cpu only
// with: DRAWLOOM_CHECK=memory
// prints: 0
// err: drawloom: the host accesses memory at 0x
// err: before anything waited for an asynchronous copy, which uses it
// Less than a page is watched, too, where the copy goes on to the end of what was allocated.
#include "check.h"

int main() {
  int *pinned, *device = on_device<int>(nullptr, 100);
  CHECK(cudaMemset(device, 0, 100 * sizeof(int)));
  CHECK(cudaMallocHost(&pinned, 100 * sizeof(int)));
  CHECK(cudaMemcpyAsync(pinned, device, 100 * sizeof(int), cudaMemcpyDeviceToHost));
  printf("%d\n", pinned[0]);  // too early
  CHECK(cudaDeviceSynchronize());
  return 0;
}
