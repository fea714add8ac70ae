// All-pairs gravity. A work-group reads the bodies in tiles through local memory; a work-item moves one body.
#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void nbody(const global float4 *restrict positions, const global float4 *restrict velocities,
                  float softening, float step,
                  global float4 *restrict new_positions, global float4 *restrict new_velocities, int n) {
  local float4 tile[GROUP];
  int body = item(0);
  int lane = get_local_id(0);
  float4 position = positions[body];
  float4 acceleration = (float4)(0.0f);
  for (int start = 0; start < n; start += GROUP) {
    tile[lane] = positions[start + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < GROUP; i++) {
      float4 other = tile[i];
      float4 r = other - position;
      r.w = 0.0f;
      float inverse = 1.0f / sqrt(r.x * r.x + r.y * r.y + r.z * r.z + softening);
      acceleration += other.w * inverse * inverse * inverse * r;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 velocity = velocities[body];
  float4 moved = position + velocity * step + 0.5f * acceleration * step * step;
  moved.w = position.w;
  new_positions[body] = moved;
  new_velocities[body] = velocity + acceleration * step;
}
