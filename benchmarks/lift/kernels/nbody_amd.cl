// All-pairs gravity. A work-item reads all bodies from global memory and moves one.

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void nbody(const global float4 *restrict positions, const global float4 *restrict velocities,
                  float softening, float step,
                  global float4 *restrict new_positions, global float4 *restrict new_velocities, int n) {
  int body = item(0);
  float4 position = positions[body];
  float4 acceleration = (float4)(0.0f);
  for (int i = 0; i < n; i++) {
    float4 other = positions[i];
    float4 r = other - position;
    r.w = 0.0f;
    float inverse = 1.0f / sqrt(r.x * r.x + r.y * r.y + r.z * r.z + softening);
    acceleration += other.w * inverse * inverse * inverse * r;
  }
  float4 velocity = velocities[body];
  float4 moved = position + velocity * step + 0.5f * acceleration * step * step;
  moved.w = position.w;
  new_positions[body] = moved;
  new_velocities[body] = velocity + acceleration * step;
}
