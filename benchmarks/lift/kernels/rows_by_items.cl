// A row of a matrix times a vector by each work-item. Work-groups read the vector in tiles through local memory.
#define GROUP 64

float times_row(const global float *restrict row, const global float *restrict x, local float *tile, int columns,
                bool is_row) {
  int lane = get_local_id(0);
  float sum = 0.0f;
  for (int start = 0; start < columns; start += GROUP) {
    tile[lane] = x[start + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_row)
      for (int i = 0; i < GROUP; i++)
        sum += row[start + i] * tile[i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return sum;
}

