// alpha A x + beta y: a work-group for each row.

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gemv(const global float *restrict a, const global float *restrict x, const global float *restrict y,
                 float alpha, float beta, global float *restrict out, int columns) {
  local float sums[GROUP];
  int row = get_group_id(0);
  float total = times_row(a + row * columns, x, sums, columns);
  if (get_local_id(0) == 0)
    out[row] = alpha * total + beta * y[row];
}
