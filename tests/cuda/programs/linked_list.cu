// prints: linked list: 0 of 100 wrong
// A list that the host builds in managed memory, with pointers that both sides follow.
#include "check.h"

struct Node { int value; Node *next; };

__global__ void add(Node *first, int *lengths) {
  int t = threadIdx.x, length = 0;
  for (Node *n = first; n; n = n->next, ++length)
    if (n->value % blockDim.x == t) n->value += 1000;
  lengths[t] = length;
}

int main() {
  const int n = 100;
  Node *nodes[n];
  int *lengths;
  CHECK(cudaMallocManaged(&lengths, 32 * sizeof(int)));
  for (int i = n - 1; i >= 0; --i) {
    CHECK(cudaMallocManaged(&nodes[i], sizeof(Node)));
    *nodes[i] = {i * 3, i + 1 < n ? nodes[i + 1] : nullptr};
  }
  add<<<1, 32>>>(nodes[0], lengths);
  CHECK(cudaDeviceSynchronize());
  long wrong = lengths[31] != n;
  int i = 0;
  for (Node *node = nodes[0]; node; node = node->next, ++i) wrong += node->value != i * 3 + 1000;
  return report("linked list", wrong, n);
}
