// Maxwell's equations in two dimensions, as for the modes of a whispering gallery: from the electric field (u, v), its
// loss ca and step cb in the material, a current f along v, and the magnetic field h to all three a step later. h needs
// the new v of the next cell in the row and the new u of the next row, computed here again.
#define AT(array, dy, dx) array[(j + (dy)) * nx + i + (dx)]

extern "C" __global__ void whispering(float *__restrict__ u1, float *__restrict__ v1, float *__restrict__ h1,
                                      const float *__restrict__ u, const float *__restrict__ v,
                                      const float *__restrict__ h, const float *__restrict__ cau,
                                      const float *__restrict__ cbu, const float *__restrict__ cav,
                                      const float *__restrict__ cbv, const float *__restrict__ f, int nx, int ny,
                                      float step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    float centre = AT(h, 0, 0);
    float here_u = AT(cau, 0, 0) * AT(u, 0, 0) + AT(cbu, 0, 0) * (centre - AT(h, -1, 0));
    float next_u = AT(cau, 1, 0) * AT(u, 1, 0) + AT(cbu, 1, 0) * (AT(h, 1, 0) - centre);
    float here_v = AT(cav, 0, 0) * AT(v, 0, 0) - AT(cbv, 0, 0) * (centre - AT(h, 0, -1)) + AT(f, 0, 0);
    float next_v = AT(cav, 0, 1) * AT(v, 0, 1) - AT(cbv, 0, 1) * (AT(h, 0, 1) - centre) + AT(f, 0, 1);
    AT(u1, 0, 0) = here_u;
    AT(v1, 0, 0) = here_v;
    AT(h1, 0, 0) = centre + step * ((next_u - here_u) - (next_v - here_v));
}
