// A separable convolution with 17 weights. Work-groups compute tiles and have them in local memory with their borders.
#define RADIUS 8
#define X 32
#define Y 4
#define ROWS_WIDTH 128
#define COLUMNS_HEIGHT 32

__attribute__((reqd_work_group_size(X, Y, 1)))
kernel void rows(const global float *restrict image, const global float *restrict weights,
                 global float *restrict out, int height, int width) {
  local float tile[Y][ROWS_WIDTH + 2 * RADIUS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int left = get_group_id(0) * ROWS_WIDTH, y = get_group_id(1) * Y + ly;
  for (int i = lx; i < ROWS_WIDTH + 2 * RADIUS; i += X)
    tile[ly][i] = image[y * width + clamp(left + i - RADIUS, 0, width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = lx; i < ROWS_WIDTH; i += X) {
    float sum = 0.0f;
    for (int w = 0; w <= 2 * RADIUS; w++)
      sum += weights[w] * tile[ly][i + w];
    out[y * width + left + i] = sum;
  }
}

__attribute__((reqd_work_group_size(X, Y, 1)))
kernel void columns(const global float *restrict image, const global float *restrict weights,
                    global float *restrict out, int height, int width) {
  local float tile[COLUMNS_HEIGHT + 2 * RADIUS][X];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_group_id(0) * X + lx, top = get_group_id(1) * COLUMNS_HEIGHT;
  for (int i = ly; i < COLUMNS_HEIGHT + 2 * RADIUS; i += Y)
    tile[i][lx] = image[clamp(top + i - RADIUS, 0, height - 1) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = ly; i < COLUMNS_HEIGHT; i += Y) {
    float sum = 0.0f;
    for (int w = 0; w <= 2 * RADIUS; w++)
      sum += weights[w] * tile[i + w][lx];
    out[(top + i) * width + x] = sum;
  }
}
