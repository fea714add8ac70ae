// prints: matches at 4 16 36
// Bytes: a pattern in constant memory, found at every place of a text at once.
#include "check.h"
#include <cstring>

__constant__ char pattern[16];

__global__ void search(const char *text, int n, int length, unsigned char *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + length > n) return;
  bool same = true;
  for (int k = 0; k < length && same; ++k) same = text[i + k] == pattern[k];
  found[i] = same;
}

int main() {
  const char *text = "the weaver, the weave and the loom: weave";
  const char *wanted = "weave";
  int n = int(strlen(text)), length = int(strlen(wanted));
  unsigned char found[64];
  CHECK(cudaMemcpyToSymbol(pattern, wanted, length));
  char *dtext = on_device(text, n);
  unsigned char *dfound = on_device<unsigned char>(nullptr, 64);
  CHECK(cudaMemset(dfound, 0, 64));
  search<<<2, 32>>>(dtext, n, length, dfound);
  to_host(found, dfound, 64);
  printf("matches at");
  for (int i = 0; i < n; ++i)
    if (found[i]) printf(" %d", i);
  printf("\n");
  return 0;
}
