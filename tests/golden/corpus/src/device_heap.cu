// malloc and free in a kernel: a linked list per thread.
#include "device.h"
#if defined(__NVCC__)
#include <stdlib.h>
#endif

struct node { int value; node *next; };

extern "C" __global__ void list_sum(const int *lengths, long long *out, int *failures) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    node *head = 0;
    for (int k = 0; k < lengths[i]; ++k) {
        node *fresh = (node *)malloc(sizeof(node));
        if (!fresh) {
            atomicAdd(failures, 1);
            break;
        }
        fresh->value = k * k;
        fresh->next = head;
        head = fresh;
    }
    long long sum = 0;
    while (head) {
        sum += head->value;
        node *next = head->next;
        free(head);
        head = next;
    }
    out[i] = sum;
}
