// A vector times a matrix and its transpose: a work-group for each row, then a work-item for each column.

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void by_rows(const global float *restrict a, const global float *restrict x, global float *restrict out,
                    int columns) {
  local float sums[GROUP];
  int row = get_group_id(0);
  float total = times_row(a + row * columns, x, sums, columns);
  if (get_local_id(0) == 0)
    out[row] = total;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void by_columns(const global float *restrict a, const global float *restrict x, global float *restrict out,
                       int rows, int columns) {
  local float tile[GROUP];
  int column = item(0), lane = get_local_id(0);
  float sum = 0.0f;
  for (int start = 0; start < rows; start += GROUP) {
    tile[lane] = x[start + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < GROUP; i++)
      sum += a[start * columns + column + i * columns] * tile[i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[column] = sum;
}
