// divisions and remainders in indices: 5
// bytes in global memory: 0
// bytes in local memory: 512
// bytes in private memory: 4
float add(float x, float y) { return x + y; }
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void warpSums(
    const global float *restrict x,
    global float *restrict out,
    int N) {
  local float tile[64];
  local float tile2[64];
  float acc;
  int wg_id_0 = get_group_id(0);
  int wg_count_0 = get_num_groups(0);
  int warp_id_0 = get_local_id(0) / 32;
  int lane_id_0 = get_local_id(0) % 32;
  for (int wg_0 = wg_id_0; wg_0 < N / 64; wg_0 += wg_count_0) {
    {
      {
        tile[32 * warp_id_0 + lane_id_0] = x[64 * wg_0 + 32 * warp_id_0 + lane_id_0];
      }
      int size = 32;
      local float *in = tile;
      local float *out2 = tile2;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = 0; i < 5; i++) {
        if (lane_id_0 < size / 2) {
          acc = 0.0f;
          for (int i2 = 0; i2 < 2; i2++) {
            acc = add(acc, in[32 * warp_id_0 + 2 * lane_id_0 + i2]);
          }
          out2[32 * warp_id_0 + lane_id_0] = acc;
        }
        size = size / 2;
        in = out2;
        out2 = (out2 == tile2) ? tile : tile2;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (lane_id_0 < 1) {
        out[2 * wg_0 + warp_id_0] = in[32 * warp_id_0];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
