// alpha A x + beta B x in two kernels, each with a work-item for each row of a matrix.

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void product(const global float *restrict b, const global float *restrict x, global float *restrict out,
                    int rows, int columns) {
  local float tile[GROUP];
  int row = item(0);
  float sum = times_row(b + row * columns, x, tile, columns, row < rows);
  if (row < rows)
    out[row] = sum;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void weigh(const global float *restrict a, const global float *restrict x, const global float *restrict product,
                  float alpha, float beta, global float *restrict out, int rows, int columns) {
  local float tile[GROUP];
  int row = item(0);
  float sum = times_row(a + row * columns, x, tile, columns, row < rows);
  if (row < rows)
    out[row] = alpha * sum + beta * product[row];
}
