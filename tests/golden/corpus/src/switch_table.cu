// A small bytecode machine: dense switches that become jump tables.
#include "device.h"

extern "C" __global__ void interpret(const unsigned char *code, const int *inputs, int *outputs, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int acc = inputs[i], aux = i;
    for (int pc = 0; pc < length; ++pc) {
        int op = code[pc];
        switch (op) {
            case 0: acc += aux; break;
            case 1: acc -= aux; break;
            case 2: acc *= 3; break;
            case 3: acc ^= aux << 2; break;
            case 4: aux = acc >> 3; break;
            case 5: acc = ~acc; break;
            case 6: aux = acc % 17; break;
            case 7: { int t = acc; acc = aux; aux = t; } break;
            case 8: acc = acc < 0 ? -acc : acc; break;
            case 9: if (acc & 1) pc += 1; break;
            case 10: acc |= 1 << (aux & 31); break;
            case 11: outputs[i] = acc; break;
            case 12: acc += inputs[(unsigned)aux % gridDim.x]; break;
            case 13: return;
            default: aux += op;
        }
    }
    outputs[i] = acc;
}
