// Nested loops with break and continue, short circuits, gotos into loops (irreducible), early returns.
#include "device.h"

extern "C" __global__ void nested(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, acc = 0;
    for (int a = 0; a < n; ++a) {
        if (x[a] == i) continue;
        for (int b = a; b < n; ++b) {
            if (x[b] < 0) break;
            if ((x[b] & 1) && x[a] > 3 || acc > 1000) continue;
            for (int c = 0; c < x[b] % 5; ++c) {
                acc += c * b;
                if (acc == 77) goto out_of_all;
            }
        }
        do {
            acc -= x[a];
        } while (acc > 500);
    }
out_of_all:
    out[i] = acc;
}

extern "C" __global__ void irreducible(const int *x, int *out) {
    int i = threadIdx.x, v = x[i], steps = 0;
    if (v & 1) goto middle;
top:
    v = v / 2 + 3;
    ++steps;
    if (v > 1000) goto done;
middle:
    v = v * 3 - steps;
    if (++steps < 20 && v % 7) goto top;
    if (v % 5 == 0 && steps < 25) goto middle;
done:
    out[i] = v + steps;
}

extern "C" __global__ void early_exits(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    if (v == 0) return;
    if (v < 0) {
        out[i] = -1;
        return;
    }
    int r = 0;
    while (true) {
        if (v == 1) break;
        v = v & 1 ? 3 * v + 1 : v >> 1;
        if (++r > 500) {
            out[i] = -2;
            return;
        }
    }
    out[i] = r;
}
