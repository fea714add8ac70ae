// Conway's game of life: a cell lives on with two or three living neighbours and is born with three. 3 rows of 3 loads.
#define AT(array, dy, dx) array[(j + (dy)) * nx + i + (dx)]

extern "C" __global__ void gameoflife(int *__restrict__ after, const int *__restrict__ cells, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int neighbours = AT(cells, -1, -1) + AT(cells, -1, 0) + AT(cells, -1, 1) + AT(cells, 0, -1) + AT(cells, 0, 1) +
                     AT(cells, 1, -1) + AT(cells, 1, 0) + AT(cells, 1, 1);
    AT(after, 0, 0) = neighbours == 3 || (neighbours == 2 && AT(cells, 0, 0) != 0);
}
