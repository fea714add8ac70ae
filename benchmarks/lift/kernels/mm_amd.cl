// Aᵀ B for A as [k][m] and B as [k][n]: a work-item computes a block of 4 × 4 sums, reading vectors from global memory.

__attribute__((reqd_work_group_size(16, 8, 1)))
kernel void mm(const global float4 *restrict a, const global float4 *restrict b, global float4 *restrict c,
               int k, int m, int n) {
  int x = item(0), y = item(1);
  float4 sum0 = (float4)(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (int i = 0; i < k; i++) {
    float4 column = a[i * (m / 4) + y];
    float4 row = b[i * (n / 4) + x];
    sum0 += column.s0 * row;
    sum1 += column.s1 * row;
    sum2 += column.s2 * row;
    sum3 += column.s3 * row;
  }
  global float4 *out = c + 4 * y * (n / 4) + x;
  out[0] = sum0;
  out[n / 4] = sum1;
  out[2 * (n / 4)] = sum2;
  out[3 * (n / 4)] = sum3;
}
