// divisions and remainders in indices: 4
// bytes in global memory: 0
// bytes in local memory: 256
// bytes in private memory: 32
float mult(float x, float y) { return x * y; }
float add(float x, float y) { return x + y; }
__attribute__((reqd_work_group_size(4, 8, 1)))
kernel void matrixMultiplicationNvidia(
    const global float4 *restrict a,
    const global float *restrict b,
    global float *restrict out,
    int M,
    int K,
    int N) {
  local float tile[32];
  local float tile2[32];
  float acc_0, acc_1, acc_2, acc_3;
  float p_0, p_1;
  float p2_0, p2_1;
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  int l_id_1 = get_local_id(1);
  int wg_id_1 = get_group_id(1);
  int wg_count_1 = get_num_groups(1);
  int vectors_K = K / 4;
  for (int wg_1 = wg_id_1; wg_1 < M / 8; wg_1 += wg_count_1) {
    for (int wg_0 = wg_id_0; wg_0 < N / 8; wg_0 += wg_count_0) {
      if (l_id_1 < 4) {
        {
          acc_0 = 0.0f;
          acc_1 = 0.0f;
          acc_2 = 0.0f;
          acc_3 = 0.0f;
        }
      }
      for (int i3 = 0; i3 < K / 4; i3++) {
        {
          if (l_id_0 < 1) {
            vstore4((float4)(b[8 * wg_0 + l_id_1 + 4 * i3 * N], b[8 * wg_0 + l_id_1 + N + 4 * i3 * N], b[8 * wg_0 + 2 * N + l_id_1 + 4 * i3 * N], b[8 * wg_0 + 3 * N + l_id_1 + 4 * i3 * N]), l_id_1, tile);
          }
        }
        {
          if (l_id_0 < 1) {
            vstore4(a[8 * wg_1 * vectors_K + l_id_1 * vectors_K + i3], l_id_1, tile2);
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l_id_1 < 4) {
          {
            for (int i4 = 0; i4 < 4; i4++) {
              p_0 = tile2[8 * l_id_1 + i4];
              p_1 = tile2[8 * l_id_1 + i4 + 4];
              p2_0 = tile[8 * l_id_0 + i4];
              p2_1 = tile[8 * l_id_0 + i4 + 4];
              acc_0 = add(acc_0, mult(p_0, p2_0));
              acc_1 = add(acc_1, mult(p_0, p2_1));
              p2_0 = tile[8 * l_id_0 + i4];
              p2_1 = tile[8 * l_id_0 + i4 + 4];
              acc_2 = add(acc_2, mult(p_1, p2_0));
              acc_3 = add(acc_3, mult(p_1, p2_1));
            }
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (l_id_1 < 4) {
        {
          out[8 * wg_1 * N + 2 * l_id_1 * N + 8 * wg_0 + 2 * l_id_0] = acc_0;
          out[8 * wg_1 * N + 2 * l_id_1 * N + 8 * wg_0 + 2 * l_id_0 + 1] = acc_1;
          out[8 * wg_1 * N + 2 * l_id_1 * N + 8 * wg_0 + 2 * l_id_0 + N] = acc_2;
          out[8 * wg_1 * N + 2 * l_id_1 * N + 8 * wg_0 + 2 * l_id_0 + N + 1] = acc_3;
        }
      }
    }
  }
}
