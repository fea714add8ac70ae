// The nearest cluster of every point. Features stand side by side for all points.

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void nearest_cluster(const global float *restrict features, const global float *restrict clusters,
                            global int *restrict membership, int points, int count, int dimensions) {
  int point = item(0);
  if (point >= points)
    return;
  float best = 3.4e38f;
  int nearest = 0;
  for (int c = 0; c < count; c++) {
    float distance = 0.0f;
    for (int f = 0; f < dimensions; f++) {
      float difference = features[f * points + point] - clusters[c * dimensions + f];
      distance += difference * difference;
    }
    if (distance < best) {
      best = distance;
      nearest = c;
    }
  }
  membership[point] = nearest;
}
