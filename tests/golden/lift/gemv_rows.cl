// divisions and remainders in indices: 0
// bytes in global memory: 0
// bytes in local memory: 0
// bytes in private memory: 4
float multAndSumUp(float acc, float x, float y) { return acc + x * y; }
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void gemvRows(
    const global float *restrict a,
    const global float *restrict x,
    global float *restrict out,
    int N,
    int M) {
  float acc;
  int g_id_0 = (int)get_group_id(0) * 128 + (int)get_local_id(0);
  int g_size_0 = get_global_size(0);
  for (int g_0 = g_id_0; g_0 < N; g_0 += g_size_0) {
    acc = 0.0f;
    for (int i = 0; i < M; i++) {
      acc = multAndSumUp(acc, a[g_0 * M + i], x[i]);
    }
    out[g_0] = acc;
  }
}
