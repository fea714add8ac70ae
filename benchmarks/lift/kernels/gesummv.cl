// alpha A x + beta B x: a work-item for each row; work-groups read the vector in tiles through local memory.
#define GROUP 64

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gesummv(const global float *restrict a, const global float *restrict b, const global float *restrict x,
                    float alpha, float beta, global float *restrict out, int columns) {
  local float tile[GROUP];
  int row = get_global_id(0), lane = get_local_id(0);
  float sum_a = 0.0f, sum_b = 0.0f;
  for (int start = 0; start < columns; start += GROUP) {
    tile[lane] = x[start + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < GROUP; i++) {
      sum_a += a[row * columns + start + i] * tile[i];
      sum_b += b[row * columns + start + i] * tile[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row] = alpha * sum_a + beta * sum_b;
}
