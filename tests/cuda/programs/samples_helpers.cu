// The helper headers of CUDA's samples: devices and errors, command lines, watches, files and pictures, vector types.
// prints: 0 wrong
#include <helper_cuda.h>
#include <helper_functions.h>
#include <helper_math.h>
#include <unistd.h>

static int wrong = 0;
static void expect(bool fine, int line) {
  if (!fine) printf("line %d\n", line), wrong++;
}
#define EXPECT(...) expect(__VA_ARGS__, __LINE__)

static __host__ __device__ float4 shade(float3 normal, float3 light) {
  float3 n = normalize(normal);
  n += make_float3(make_float2(0.5f, 0.25f), 1.0f) * 2.0f - make_float3(1, 0.5f, 2);
  const float3 reflected = reflect(-light, n) / 2.0f;
  const float3 mixed = lerp(clamp(reflected, -0.5f, 0.5f), cross(n, light), 0.25f);
  return make_float4(mixed, smoothstep(0.0f, 2.0f, length(light)) + dot(fminf(n, light), fabs(n)));
}
__global__ void shade_all(float4 *out) { out[threadIdx.x] = shade(make_float3(threadIdx.x + 1, 2, -1), make_float3(0.3f)); }

int main() {
  const char *words[] = {"program", "-device=0", "--Size=42", "-scale=2.5", "-file=a.pgm", "-quiet"};
  const int count = sizeof words / sizeof *words;
  EXPECT(checkCmdLineFlag(count, words, "quiet") && !checkCmdLineFlag(count, words, "qui"));
  EXPECT(getCmdLineArgumentInt(count, words, "size") == 42 && getCmdLineArgumentInt(count, words, "size=") == 42);
  EXPECT(getCmdLineArgumentFloat(count, words, "scale") == 2.5f && getCmdLineArgumentInt(count, words, "none") == 0);
  char *name = nullptr;
  EXPECT(getCmdLineArgumentString(count, words, "file", &name) && !strcmp(name, "a.pgm"));
  EXPECT(_ConvertSMVer2Cores(7, 5) == 64 && _ConvertSMVer2Cores(9, 0) == 128 && ftoi(-1.5f) == -2);

  StopWatchInterface *timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  usleep(2000);
  sdkStopTimer(&timer);
  EXPECT(sdkGetTimerValue(&timer) >= 2 && sdkGetAverageTimerValue(&timer) == sdkGetTimerValue(&timer));
  sdkDeleteTimer(&timer);

  float4 *shades;
  checkCudaErrors(cudaMallocManaged(&shades, 32 * sizeof(float4)));
  shade_all<<<1, 32>>>(shades);
  getLastCudaError("the launch failed");
  checkCudaErrors(cudaDeviceSynchronize());
  for (int k = 0; k < 32; k++) {
    const float4 difference = fabs(shade(make_float3(k + 1, 2, -1), make_float3(0.3f)) - shades[k]);
    EXPECT(dot(difference, make_float4(1)) < 1e-5f);
  }
  const int2 whole = abs(max(make_int2(-3, 2), make_int2(-4, -5))) * 2 + make_int2(make_uint2(1, 2));
  EXPECT(whole.x == 7 && whole.y == 6);

  char folder[] = "/tmp/drawloom-samples-XXXXXX";
  EXPECT(mkdtemp(folder) && !chdir(folder));
  float picture[12], *read = nullptr;
  for (int k = 0; k < 12; k++) picture[k] = k / 12.0f;
  unsigned w = 0, h = 0, length = 0;
  EXPECT(sdkSavePGM("a.pgm", picture, 4, 3) && sdkLoadPGM("a.pgm", &read, &w, &h) && w == 4 && h == 3);
  EXPECT(compareData(picture, read, 12, 1 / 200.0f, 0.0f) && !compareData(picture, read, 12, 0.0f, 0.5f));
  EXPECT(sdkCompareL2fe(picture, read, 12, 0.01f) && sdkComparePGM("a.pgm", "a.pgm", 0, 0, false));
  unsigned char colours[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *pixels = nullptr;
  EXPECT(sdkSavePPM4ub("b.ppm", colours, 2, 1) && sdkLoadPPM4ub("b.ppm", &pixels, &w, &h));
  EXPECT(pixels[4] == 5 && pixels[6] == 7 && pixels[7] == 0 && !sdkComparePPM("b.ppm", "a.pgm", 0, 0, false));
  float *numbers = nullptr;
  EXPECT(sdkWriteFile("c.dat", picture, 12, 0.0f, true, true) && sdkReadFile("c.dat", &numbers, &length, true));
  EXPECT(length == 12 && compareData(picture, numbers, 12, 1e-5f, 0.0f));
  char *path = sdkFindFilePath("a.pgm", "program");
  EXPECT(path && !strcmp(path, "a.pgm") && !sdkFindFilePath("no-such-file", nullptr));
  for (const char *file : {"a.pgm", "b.ppm", "c.dat"}) unlink(file);
  rmdir(folder);
  try {
    RUNTIME_EXCEPTION("thrown");
  } catch (const std::runtime_error &error) {
    EXPECT(strstr(error.what(), "thrown") != nullptr);
  }
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
