// divisions and remainders in indices: 3
// bytes in global memory: 0
// bytes in local memory: 256
// bytes in private memory: 8
float multAndSumUp(float acc, float x, float y) { return acc + x * y; }
__attribute__((reqd_work_group_size(8, 8, 1)))
kernel void matrixMultiplicationGuarded(
    const global float *restrict a,
    const global float *restrict b,
    global float *restrict out,
    int M,
    int K,
    int N) {
  local float tile[32];
  local float tile2[32];
  float acc;
  float acc2;
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  int l_id_1 = get_local_id(1);
  int wg_id_1 = get_group_id(1);
  int wg_count_1 = get_num_groups(1);
  for (int wg_1 = wg_id_1; wg_1 < (M + 7) / 8; wg_1 += wg_count_1) {
    for (int wg_0 = wg_id_0; wg_0 < (N + 7) / 8; wg_0 += wg_count_0) {
      if (l_id_1 < min(M - 8 * wg_1, 8)) {
        if (l_id_0 < min(N - 8 * wg_0, 8)) {
          acc = 0.0f;
        }
      }
      for (int i = 0; i < (K + 3) / 4; i++) {
        if (l_id_1 < min(K - 4 * i, 4)) {
          if (l_id_0 < min(N - 8 * wg_0, 8)) {
            tile[8 * l_id_1 + l_id_0] = b[l_id_1 * N + 8 * wg_0 + l_id_0 + 4 * i * N];
          }
        }
        if (l_id_1 < min(K - 4 * i, 4)) {
          if (l_id_0 < min(M - 8 * wg_1, 8)) {
            tile2[8 * l_id_1 + l_id_0] = a[8 * wg_1 * K + (l_id_0 * K + l_id_1 + 4 * i)];
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l_id_1 < min(M - 8 * wg_1, 8)) {
          if (l_id_0 < min(N - 8 * wg_0, 8)) {
            acc2 = acc;
            for (int i2 = 0; i2 < min(K - 4 * i, 4); i2++) {
              acc2 = multAndSumUp(acc2, tile2[l_id_1 + 8 * i2], tile[l_id_0 + 8 * i2]);
            }
            acc = acc2;
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (l_id_1 < min(M - 8 * wg_1, 8)) {
        if (l_id_0 < min(N - 8 * wg_0, 8)) {
          out[8 * wg_1 * N + (l_id_1 * N + 8 * wg_0 + l_id_0)] = acc;
        }
      }
    }
  }
}
