// Arrays on the stack with dynamic indices: an insertion sort, a small stack machine, spilled structures.
#include "device.h"

extern "C" __global__ void median(const float *x, float *out, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float window[25];
    int count = 0;
    for (int k = -width; k <= width; ++k) {
        int j = i + k;
        if (j < 0 || j >= n) continue;
        float v = x[j];
        int p = count++;
        while (p > 0 && window[p - 1] > v) {
            window[p] = window[p - 1];
            --p;
        }
        window[p] = v;
    }
    out[i] = window[count / 2];
}

extern "C" __global__ void queens(int *solutions, int n) {
    unsigned char row[12];
    int first = threadIdx.x, depth = 1, found = 0;
    if (first >= n) return;
    row[0] = (unsigned char)first;
    row[1] = 0;
    while (depth > 0) {
        if (row[depth] >= n) {
            if (--depth > 0) ++row[depth];
            continue;
        }
        bool safe = true;
        for (int k = 0; k < depth && safe; ++k) {
            int d = (int)row[depth] - row[k];
            safe = d != 0 && d != depth - k && d != k - depth;
        }
        if (!safe) {
            ++row[depth];
        } else if (depth == n - 1) {
            ++found;
            ++row[depth];
        } else {
            row[++depth] = 0;
        }
    }
    solutions[first] = found;
}
