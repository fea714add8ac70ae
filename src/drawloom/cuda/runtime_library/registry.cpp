// From the calls that clang puts into a program's constructors (CUDA's registration interface, version 12) to tables.
#include "registry.h"
#include "embedded.h"
#include "process.h"
#include "settings.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <cstring>

namespace drawloom {
namespace {

// What `-fcuda-include-gpubinary` embeds, and the wrapper that clang puts around it.
struct Wrapper {
  int magic, version;
  const char *blob;
  void *unused;
};

std::vector<std::unique_ptr<Device>> &devices() {
  Process &all = process();
  std::call_once(all.looked, [&] { all.devices = find_devices(); });
  return all.devices;
}

#if defined(__x86_64__)
// Asked of the processor itself: not every compiler's library knows it. The bits are those of CPUID leaves 1 (ECX) and
// 7 (EBX), and of the extended control register 0, which tells what the system saves.
bool has(unsigned leaf_1) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & leaf_1) == leaf_1;
}

bool has(unsigned leaf_1, unsigned leaf_7, unsigned saved) {
  constexpr unsigned kOsSaves = 1u << 27;
  unsigned a, b, c, d, state, ignored;
  if (!has(leaf_1 | kOsSaves)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & leaf_7) != leaf_7) return false;
  __asm__("xgetbv" : "=a"(state), "=d"(ignored) : "c"(0));
  return (state & saved) == saved;
}
#endif

// Whether this CPU has a level of x86-64; code for "native" is for the machine that it was made on. "none" has no code.
bool runs_here(const char *level) {
  if (!strcmp(level, "none")) return false;
#if defined(__x86_64__)
  constexpr unsigned kFma = 1u << 12, kMovbe = 1u << 22, kF16c = 1u << 29;
  constexpr unsigned kBmi = 1u << 3 | 1u << 8, kAvx2 = 1u << 5;
  constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // F, DQ, CD, BW, VL
  constexpr unsigned kSse4 = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;  // SSE3 to POPCNT
  if (!strcmp(level, "x86-64-v2")) return has(kSse4);
  if (!strcmp(level, "x86-64-v3")) return has(kFma | kMovbe | kF16c, kBmi | kAvx2, 0x06);
  if (!strcmp(level, "x86-64-v4")) return has(kFma | kMovbe | kF16c, kBmi | kAvx2 | kAvx512, 0xe6);
#endif
  return true;
}

// The program with its tables. They are looked up at the first use: while constructors run, not all are there.
const Image *tables_of(Program &program) {
  if (!program.image) program.image = image_of(program.key);
  return program.image;
}

}  // namespace

const Image *image_of(const std::string &key) {
  for (const Image *image = process().images; image; image = static_cast<const Image *>(image->next))
    if (key == static_cast<const char *>(image->key))
      return runs_here(static_cast<const char *>(image->level)) ? image : nullptr;
  return nullptr;
}

Function *function_of(const void *host) {
  Process &all = process();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.functions.find(host);
  if (found == all.functions.end()) return nullptr;
  Function &function = found->second;
  if (function.kernel) return &function;
  const Image *image = tables_of(*function.program);
  const Kernel *kernels = image ? static_cast<const Kernel *>(image->kernels) : nullptr;
  for (int64_t i = 0; image && i < image->kernel_count; ++i)
    if (function.name == static_cast<const char *>(kernels[i].name)) function.kernel = &kernels[i];
  return &function;
}

const Kernel *layout_of(Function &function) {
  if (function.kernel) return function.kernel;
  for (const Image *image = process().images; image; image = static_cast<const Image *>(image->next)) {
    if (function.program->key != static_cast<const char *>(image->key)) continue;
    const Kernel *kernels = static_cast<const Kernel *>(image->kernels);
    for (int64_t i = 0; i < image->kernel_count; ++i)
      if (function.name == static_cast<const char *>(kernels[i].name)) return &kernels[i];
  }
  return nullptr;
}

const char *level_of(const Program &program) {
  for (const Image *image = process().images; image; image = static_cast<const Image *>(image->next))
    if (program.key == static_cast<const char *>(image->key)) return static_cast<const char *>(image->level);
  return nullptr;
}

Symbol *symbol_of(const void *host) {
  Process &all = process();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.symbols.find(host);
  if (found == all.symbols.end()) return nullptr;
  tables_of(*found->second.program);
  return &found->second;
}

int device_count() { return int(devices().size()); }

int &current_device() { return thread().device; }

Device *device(cudaError_t &error) {
  error = cudaErrorNoDevice;
  if (devices().empty()) return nullptr;
  Device *found = devices()[size_t(current_device())].get();
  error = found->activate();
  return error ? nullptr : found;
}

std::vector<std::unique_ptr<Device>> find_devices() {
  const Settings &chosen = settings();
  std::vector<std::unique_ptr<Device>> found;
  if (!chosen.understood) return found;
  if (chosen.device != "cpu") found = driver_devices();
  if (chosen.device == "cpu" || (chosen.device.empty() && found.empty())) found.push_back(cpu_device());
  if (chosen.device_index < 0) return found;
  std::vector<std::unique_ptr<Device>> one;
  if (size_t(chosen.device_index) < found.size()) one.push_back(std::move(found[size_t(chosen.device_index)]));
  return one;
}

}  // namespace drawloom

using namespace drawloom;

extern "C" {

void dl_register_image(Image *image) {
  Process &all = process();
  std::lock_guard<std::mutex> lock(all.mutex);
  image->next = const_cast<Image *>(all.images);
  all.images = image;
}

void **__cudaRegisterFatBinary(void *wrapper) {
  Program *program = new Program;
  program->blob = static_cast<Wrapper *>(wrapper)->blob;
  if (is_ours(program->blob)) program->key = key_of(program->blob);
  return reinterpret_cast<void **>(program);
}

void __cudaRegisterFatBinaryEnd(void **) {}

void __cudaUnregisterFatBinary(void **) {}  // the program ends: shared libraries stay until then

void __cudaRegisterFunction(void **handle, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *,
                            dim3 *, int *) {
  Process &all = process();
  std::lock_guard<std::mutex> lock(all.mutex);
  Function &function = all.functions[host];
  function.program = reinterpret_cast<Program *>(handle);
  function.name = name;
}

void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t size, int, int) {
  Process &all = process();
  std::lock_guard<std::mutex> lock(all.mutex);
  Symbol &symbol = all.symbols[host];
  symbol.program = reinterpret_cast<Program *>(handle);
  symbol.name = name;
  symbol.size = size;
}
}
