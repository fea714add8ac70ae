// divisions and remainders in indices: 3
// bytes in global memory: 0
// bytes in local memory: 384
// bytes in private memory: 4
float multAndSumUp(float acc, float x, float y) { return acc + x * y; }
float add(float x, float y) { return x + y; }
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void partialDotProduct(
    const global float *restrict x,
    const global float *restrict y,
    global float *restrict out,
    int N) {
  local float tile[64];
  local float tile2[32];
  float acc;
  int l_id_0 = get_local_id(0);
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  for (int wg_0 = wg_id_0; wg_0 < N / 128; wg_0 += wg_count_0) {
    {
      acc = 0.0f;
      for (int i = 0; i < 2; i++) {
        acc = multAndSumUp(acc, x[128 * wg_0 + 2 * l_id_0 + i], y[128 * wg_0 + 2 * l_id_0 + i]);
      }
      tile[l_id_0] = acc;
    }
    int size = 64;
    local float *in = tile;
    local float *out2 = tile2;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i2 = 0; i2 < 6; i2++) {
      if (l_id_0 < size / 2) {
        acc = 0.0f;
        for (int i3 = 0; i3 < 2; i3++) {
          acc = add(acc, in[2 * l_id_0 + i3]);
        }
        out2[l_id_0] = acc;
      }
      size = size / 2;
      in = out2;
      out2 = (out2 == tile2) ? tile : tile2;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l_id_0 < 1) {
      out[wg_0] = in[0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
