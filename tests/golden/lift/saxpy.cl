// divisions and remainders in indices: 0
// bytes in global memory: 0
// bytes in local memory: 0
// bytes in private memory: 0
float mult(float x, float y) { return x * y; }
float add(float x, float y) { return x + y; }
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void saxpy(
    float a,
    const global float *restrict x,
    const global float *restrict y,
    global float *restrict out,
    int N) {
  int g_id_0 = (int)get_group_id(0) * 128 + (int)get_local_id(0);
  int g_size_0 = get_global_size(0);
  for (int g_0 = g_id_0; g_0 < N; g_0 += g_size_0) {
    out[g_0] = add(mult(a, x[g_0]), y[g_0]);
  }
}
