// The distance of every place from one place.

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void distances(const global float *restrict latitudes, const global float *restrict longitudes,
                      float latitude, float longitude, global float *restrict out, int places) {
  int place = item(0);
  if (place >= places)
    return;
  float a = latitudes[place] - latitude;
  float b = longitudes[place] - longitude;
  out[place] = sqrt(a * a + b * b);
}
