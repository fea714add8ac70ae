// divisions and remainders in indices: 1
// bytes in global memory: 0
// bytes in local memory: 0
// bytes in private memory: 32
float4 mult(float4 x, float4 y) { return x * y; }
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void vectorMultiply(
    const global float4 *restrict x,
    const global float4 *restrict y,
    global float4 *restrict out,
    int N) {
  float4 v;
  float4 v2;
  int g_id_0 = (int)get_group_id(0) * 128 + (int)get_local_id(0);
  int g_size_0 = get_global_size(0);
  for (int g_0 = g_id_0; g_0 < N / 4; g_0 += g_size_0) {
    v = x[g_0];
    v2 = y[g_0];
    out[g_0] = mult(v, v2);
  }
}
