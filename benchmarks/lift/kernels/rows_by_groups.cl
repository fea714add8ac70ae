// A row of a matrix times a vector by a work-group, whose work-items read neighbouring elements. The first returns the sum.
#define GROUP 64

float times_row(const global float *restrict row, const global float *restrict x, local float *sums, int columns) {
  int lane = get_local_id(0);
  float sum = 0.0f;
  for (int start = 0; start < columns; start += GROUP)
    sum += row[start + lane] * x[start + lane];
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  float total = 0.0f;
  if (lane == 0)
    for (int i = 0; i < GROUP; i++)
      total += sums[i];
  return total;
}

