// divisions and remainders in indices: 0
// bytes in global memory: 0
// bytes in local memory: 0
// bytes in private memory: 0
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void matrixTranspose(
    const global float *restrict x,
    global float *restrict out,
    int N,
    int M) {
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  for (int wg_0 = wg_id_0; wg_0 < M; wg_0 += wg_count_0) {
    for (int l_0 = l_id_0; l_0 < N; l_0 += 64) {
      out[wg_0 * N + l_0] = x[wg_0 + l_0 * M];
    }
  }
}
