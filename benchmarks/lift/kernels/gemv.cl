// alpha A x + beta y: a work-group for each row, whose work-items read neighbouring elements.
#define GROUP 64

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gemv(const global float *restrict a, const global float *restrict x, const global float *restrict y,
                 float alpha, float beta, global float *restrict out, int columns) {
  local float sums[GROUP];
  int row = get_group_id(0), lane = get_local_id(0);
  float sum = 0.0f;
  for (int start = 0; start < columns; start += GROUP)
    sum += a[row * columns + start + lane] * x[start + lane];
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    float total = 0.0f;
    for (int i = 0; i < GROUP; i++)
      total += sums[i];
    out[row] = alpha * total + beta * y[row];
  }
}
