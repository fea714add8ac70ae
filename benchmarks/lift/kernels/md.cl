// Lennard-Jones forces. A work-item sums over the neighbours of one particle, whose lists stand side by side so that
// neighbouring work-items read neighbouring indices.

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void forces(const global float4 *restrict positions, const global int *restrict neighbours,
                   float cutoff, float lj1, float lj2, global float4 *restrict out, int n, int count) {
  int particle = item(0);
  if (particle >= n)
    return;
  float4 position = positions[particle];
  float4 force = (float4)(0.0f);
  for (int j = 0; j < count; j++) {
    float4 r = position - positions[neighbours[j * n + particle]];
    r.w = 0.0f;
    float squared = dot(r, r);
    if (squared < cutoff) {
      float inverse = 1.0f / squared;
      float sixth = inverse * inverse * inverse;
      force += inverse * sixth * (lj1 * sixth - lj2) * r;
    }
  }
  out[particle] = force;
}
