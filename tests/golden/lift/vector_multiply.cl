// divisions and remainders in indices: 1
// bytes in global memory: 0
// bytes in local memory: 0
// bytes in private memory: 32
float4 mult(float4 x, float4 y) { return x * y; }
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void vectorMultiply(
    const global float *restrict x,
    const global float *restrict y,
    global float *restrict out,
    int N) {
  float4 v;
  float4 v2;
  int g_id_0 = get_global_id(0);
  int g_size_0 = get_global_size(0);
  for (int g_0 = g_id_0; g_0 < N / 4; g_0 += g_size_0) {
    v = vload4(g_0, x);
    v2 = vload4(g_0, y);
    vstore4(mult(v, v2), g_0, out);
  }
}
