// divisions and remainders in indices: 1
// bytes in global memory: 0
// bytes in local memory: 128
// bytes in private memory: 0
float add(float x, float y) { return x + y; }
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void doublings(
    const global float *restrict x,
    global float *restrict out,
    int N) {
  local float tile[16];
  local float tile2[16];
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  for (int wg_0 = wg_id_0; wg_0 < N / 16; wg_0 += wg_count_0) {
    if (l_id_0 < 16) {
      tile[l_id_0] = x[16 * wg_0 + l_id_0];
    }
    local float *in = tile;
    local float *out2 = tile2;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 3; i++) {
      if (l_id_0 < 16) {
        out2[l_id_0] = add(in[l_id_0], in[l_id_0]);
      }
      in = out2;
      out2 = (out2 == tile2) ? tile : tile2;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l_id_0 < 16) {
      out[16 * wg_0 + l_id_0] = in[l_id_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
