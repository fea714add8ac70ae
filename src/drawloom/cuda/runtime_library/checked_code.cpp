// From the PTX that a program has embedded to a shared library with the code of its kernels that checks accesses. The
// program's Drawloom makes it (`drawloom checked`, with a cache of its own), or the one that DRAWLOOM or PATH names.
#include "checked_code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>

#include "embedded.h"

extern char **environ;

namespace drawloom {
namespace {

constexpr char kAdvice[] =
    "  install Drawloom, name its command in DRAWLOOM, or build the program with `drawloom cc -checked`";

bool refuse(const std::string &why) {
  fprintf(stderr, "drawloom: DRAWLOOM_CHECK=%s: %s\n%s\n", std::getenv("DRAWLOOM_CHECK"), why.c_str(), kAdvice);
  return false;
}

// The words that start Drawloom, and the folder of its package where the interpreter is to be told.
struct Command {
  std::vector<std::string> words;
  std::string package;
};

// `recorded` is what the program was built by: the path of an interpreter, a line break, the folder of the package.
Command command_for(const std::string &recorded) {
  Command out;
  const char *named = std::getenv("DRAWLOOM");
  if (named && *named) {
    std::istringstream words(named);
    for (std::string word; words >> word;) out.words.push_back(word);
    if (!out.words.empty()) return out;
  }
  size_t line = recorded.find('\n');
  std::string python = recorded.substr(0, line);
  out.package = line == std::string::npos ? "" : recorded.substr(line + 1);
  if (!access(python.c_str(), X_OK) && !access((out.package + "/drawloom/__main__.py").c_str(), R_OK)) {
    out.words = {python, "-P", "-m", "drawloom"};
  } else {
    out.words = {"drawloom"};
    out.package.clear();
  }
  return out;
}

std::vector<std::string> environment_for(const Command &command) {
  std::vector<std::string> out;
  const char *path = std::getenv("PYTHONPATH");
  for (char **one = environ; *one; ++one)
    if (command.package.empty() || strncmp(*one, "PYTHONPATH=", 11)) out.push_back(*one);
  if (!command.package.empty())
    out.push_back("PYTHONPATH=" + command.package + (path && *path ? std::string(":") + path : ""));
  return out;
}

std::vector<char *> pointers_to(std::vector<std::string> &texts) {
  std::vector<char *> out;
  for (std::string &text : texts) out.push_back(&text[0]);
  out.push_back(nullptr);
  return out;
}

// Runs a command with these files as standard input and output; "" or what went wrong.
std::string run(Command command, int input, int output) {
  std::vector<std::string> environment = environment_for(command);
  std::string name = "`" + command.words[0] + "`";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  pid_t child = 0;
  int error = posix_spawnp(&child, command.words[0].c_str(), &files, nullptr, pointers_to(command.words).data(),
                           pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (error) return "code that checks accesses is compiled by " + name + ", which cannot be run: " + strerror(error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return "";  // the program has children reaped for it: what was written tells
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return "";
  return name + " did not compile the code that checks accesses";
}

// A file in memory that is none of the standard ones; -1 where there is none.
int new_file(const char *bytes, size_t size) {
  int made = memfd_create("drawloom", MFD_CLOEXEC);
  int file = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 3);
  if (made >= 0) close(made);
  while (file >= 0 && size) {
    ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return -1;
    }
    bytes += written;
    size -= size_t(written);
  }
  if (file >= 0) lseek(file, 0, SEEK_SET);
  return file;
}

// The tables of a program's kernels with code that checks accesses; null, and told why, where that cannot be had.
const Image *load_checked_image(const Program &program) {
  std::string recorded;
  const Code *ptx = nullptr;
  std::vector<Code> all = codes_of(program.blob);
  for (const Code &one : all) {
    if (one.kind == kPtxImage) ptx = &one;
    if (one.kind == kCommandImage) recorded = one.bytes;
  }
  const Image *found = nullptr;
  if (!ptx) return refuse("the program has no PTX"), found;
  int input = new_file(ptx->bytes, strlen(ptx->bytes));
  int output = new_file("", 0);  // stays open: the dynamic linker knows a library by its path, and this one's is its number
  if (input < 0 || output < 0) return refuse(std::string("no file in memory: ") + strerror(errno)), found;
  Command command = command_for(recorded);
  for (const char *word : {"checked", static_cast<const char *>(program.image->level), INTERFACE})
    command.words.push_back(word);
  std::string wrong = run(command, input, output);
  close(input);
  void *library = nullptr;
  if (wrong.empty()) {
    library = dlopen(("/proc/self/fd/" + std::to_string(output)).c_str(), RTLD_NOW | RTLD_LOCAL);
    found = library ? static_cast<const Image *>(dlsym(library, CHECKED_IMAGE)) : nullptr;
    if (!found) wrong = std::string("what `") + command.words[0] + "` compiled cannot be loaded: " + dlerror();
  }
  if (!found) {
    close(output);
    refuse(wrong);
  }
  return found;
}

const Kernel *kernel_in(const Image &image, const std::string &name) {
  const Kernel *kernels = static_cast<const Kernel *>(image.kernels);
  for (int64_t i = 0; i < image.kernel_count; ++i)
    if (name == static_cast<const char *>(kernels[i].name)) return &kernels[i];
  return nullptr;
}

bool has_checked_code(const Kernel &kernel) {
  for (int64_t i = 0; i < kernel.variant_count; ++i)
    if (static_cast<const Variant *>(kernel.variants)[i].checked) return true;
  return false;
}

}  // namespace

bool find_checked_code(Function &function) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (function.checked) return true;
  Program &program = *function.program;
  if (!program.checked) program.checked = has_checked_code(*function.kernel) ? program.image : load_checked_image(program);
  if (program.checked) function.checked = kernel_in(*program.checked, function.name);
  return function.checked;
}

}  // namespace drawloom
