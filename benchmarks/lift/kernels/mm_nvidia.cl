// Aᵀ B for A as [k][m] and B as [k][n]: work-groups have tiles of both in local memory, work-items blocks of 4 × 4 sums
// in registers, and memory is read and written by vectors.
#define TILE 64
#define DEPTH 16
#define VECTORS (TILE / 4)

__attribute__((reqd_work_group_size(VECTORS, DEPTH, 1)))
kernel void mm(const global float4 *restrict a, const global float4 *restrict b, global float4 *restrict c,
               int k, int m, int n) {
  local float4 tile_a[DEPTH][VECTORS], tile_b[DEPTH][VECTORS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_group_id(0) * VECTORS, y = get_group_id(1) * VECTORS;
  float4 sum0 = (float4)(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (int start = 0; start < k; start += DEPTH) {
    tile_a[ly][lx] = a[(start + ly) * (m / 4) + y + lx];
    tile_b[ly][lx] = b[(start + ly) * (n / 4) + x + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < DEPTH; i++) {
      float4 column = tile_a[i][ly];
      float4 row = tile_b[i][lx];
      sum0 += column.s0 * row;
      sum1 += column.s1 * row;
      sum2 += column.s2 * row;
      sum3 += column.s3 * row;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  global float4 *out = c + 4 * (y + ly) * (n / 4) + x + lx;
  out[0] = sum0;
  out[n / 4] = sum1;
  out[2 * (n / 4)] = sum2;
  out[3 * (n / 4)] = sum3;
}
