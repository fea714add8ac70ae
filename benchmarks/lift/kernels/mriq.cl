// The matrix Q of MRI reconstruction: magnitudes of the samples, then a sum over all samples for each voxel.

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void magnitudes(const global float *restrict re, const global float *restrict im,
                       global float *restrict out, int samples) {
  int k = item(0);
  if (k < samples)
    out[k] = re[k] * re[k] + im[k] * im[k];
}

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void q(const global float *restrict kx, const global float *restrict ky, const global float *restrict kz,
              const global float *restrict magnitude, const global float *restrict x, const global float *restrict y,
              const global float *restrict z, const global float *restrict start_re,
              const global float *restrict start_im, global float *restrict out_re, global float *restrict out_im,
              int samples) {
  int voxel = item(0);
  float at_x = x[voxel], at_y = y[voxel], at_z = z[voxel];
  float re = start_re[voxel], im = start_im[voxel];
  for (int k = 0; k < samples; k++) {
    float angle = 6.2831855f * (kx[k] * at_x + ky[k] * at_y + kz[k] * at_z);
    re += magnitude[k] * cos(angle);
    im += magnitude[k] * sin(angle);
  }
  out_re[voxel] = re;
  out_im[voxel] = im;
}
