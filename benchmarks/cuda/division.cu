// Kernels that divide 64-bit integers. Compilers put the test for short operands in by themselves, so that divisions
// are written in PTX here: with and without the test is then what benchmarks/bypass.py makes of them.
typedef long long i64;
typedef unsigned long long u64;

__device__ inline u64 quotient(u64 a, u64 b) { u64 q; asm("div.u64 %0, %1, %2;" : "=l"(q) : "l"(a), "l"(b)); return q; }
__device__ inline u64 remainder(u64 a, u64 b) { u64 r; asm("rem.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b)); return r; }
__device__ inline i64 quotient(i64 a, i64 b) { i64 q; asm("div.s64 %0, %1, %2;" : "=l"(q) : "l"(a), "l"(b)); return q; }
__device__ inline i64 remainder(i64 a, i64 b) { i64 r; asm("rem.s64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b)); return r; }

// The sum of the quotients of a number and those near its divisor.
extern "C" __global__ void quotients(const u64 *a, const u64 *b, u64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = a[i], y = b[i], sum = 0;
    for (int k = 0; k < rounds; k++) sum += quotient(x, y + k);
    out[i] = sum;
}

// Slots of a key in tables of sizes near its divisor.
extern "C" __global__ void slots(const u64 *a, const u64 *b, u64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = a[i], y = b[i], mixed = 0;
    for (int k = 0; k < rounds; k++) mixed ^= remainder(x ^ k, y + k) << (k & 7);
    out[i] = mixed;
}

// The sum of the digits of a number to the base of its divisor, from the lowest, and again from quotient and divisor.
extern "C" __global__ void digits(const u64 *a, const u64 *b, u64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 sum = 0, base = b[i];
    for (int k = 0; k < rounds; k++) {
        u64 left = a[i] - k;
        sum += remainder(left, base);
        left = quotient(left, base);
        sum += remainder(left, base);
        sum += quotient(left, base);
    }
    out[i] = sum;
}

// Greatest common divisors, by Euclid.
extern "C" __global__ void divisors(const u64 *a, const u64 *b, u64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 sum = 0;
    for (int k = 0; k < rounds; k++) {
        u64 x = a[i] + k, y = b[i];
        while (y) {
            u64 r = remainder(x, y);
            x = y;
            y = r;
        }
        sum += x;
    }
    out[i] = sum;
}

// Powers of a number modulo another; the products of the residues are what is divided.
extern "C" __global__ void powers(const u64 *a, const u64 *b, u64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 modulus = b[i], square = remainder(a[i], modulus), power = 1;
    for (int bits = rounds; bits; bits >>= 1) {
        if (bits & 1) power = remainder(power * square, modulus);
        square = remainder(square * square, modulus);
    }
    out[i] = power;
}

// The place in a grid of three dimensions of a signed index, whose extents are known only at run time.
extern "C" __global__ void places(const i64 *a, const i64 *b, i64 *out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    i64 sum = 0;
    for (int k = 0; k < rounds; k++) {
        i64 index = a[i] - k, width = b[i], height = b[i] + 1;
        i64 x = remainder(index, width), rows = quotient(index, width);
        i64 y = remainder(rows, height), z = quotient(rows, height);
        sum += x + 3 * y + 5 * z;
    }
    out[i] = sum;
}
