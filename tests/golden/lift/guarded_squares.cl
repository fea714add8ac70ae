// divisions and remainders in indices: 1
// bytes in global memory: 0
// bytes in local memory: 32
// bytes in private memory: 0
float mult(float x, float y) { return x * y; }
__attribute__((reqd_work_group_size(8, 1, 1)))
kernel void guardedSquares(
    const global float *restrict x,
    global float *restrict out,
    int N) {
  local float tile[8];
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  for (int wg_0 = wg_id_0; wg_0 < (N + 7) / 8; wg_0 += wg_count_0) {
    if (l_id_0 < min(N - 8 * wg_0, 8)) {
      tile[l_id_0] = mult(x[8 * wg_0 + l_id_0], x[8 * wg_0 + l_id_0]);
    }
    if (l_id_0 < min(N - 8 * wg_0, 8)) {
      out[8 * wg_0 + l_id_0] = tile[l_id_0];
    }
  }
}
