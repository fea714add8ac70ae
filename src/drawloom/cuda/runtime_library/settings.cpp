// From the environment to settings.
#include "settings.h"

#include <cstdio>
#include <cstdlib>

namespace drawloom {
namespace {

// The number that a text is, from 0 to `most`; -1 for what is none.
int number_in(const std::string &text, int most) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos) return -1;
  int number = std::atoi(text.c_str());
  return number <= most ? number : -1;
}

Settings from_environment() {
  constexpr int kMostThreads = 4096, kMostDevices = 4096;
  Settings out;
  auto text_of = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  auto refuse = [&](const char *name, const char *expected) {
    fprintf(stderr, "drawloom: %s=%s: expected %s\n", name, text_of(name).c_str(), expected);
    out.understood = false;
  };

  out.device = text_of("DRAWLOOM_DEVICE");
  if (out.device.rfind("cuda:", 0) == 0) {
    out.device_index = number_in(out.device.substr(5), kMostDevices);
    if (out.device_index >= 0) out.device = "cuda";
  }
  if (!out.device.empty() && out.device != "cpu" && out.device != "cuda")
    refuse("DRAWLOOM_DEVICE", "cpu, cuda or cuda:N");

  std::string threads = text_of("DRAWLOOM_THREADS");
  if (!threads.empty()) out.threads = number_in(threads, kMostThreads);
  if (out.threads < 0) refuse("DRAWLOOM_THREADS", "a number of threads from 0 to 4096");

  std::string check = text_of("DRAWLOOM_CHECK");
  out.races = check == "race";
  out.checked = check == "memory" || out.races;
  if (!check.empty() && check != "off" && !out.checked) refuse("DRAWLOOM_CHECK", "memory, race or off");

  std::string assembler = text_of("DRAWLOOM_ASSEMBLER");
  out.by_driver = assembler == "driver";
  if (!assembler.empty() && assembler != "drawloom" && !out.by_driver)
    refuse("DRAWLOOM_ASSEMBLER", "drawloom or driver");

  out.blocking = text_of("CUDA_LAUNCH_BLOCKING") == "1";
  return out;
}

}  // namespace

const Settings &settings() {
  static const Settings *one = new Settings(from_environment());  // never destroyed: other static destructors may still ask
  return *one;
}

}  // namespace drawloom
