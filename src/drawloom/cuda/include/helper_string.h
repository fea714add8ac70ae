// Command lines and paths of CUDA's samples: options are `-name`, `--name` or `-name=value`, whatever their case.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fstream>
#include <string>

#ifndef STRCASECMP
#define STRCASECMP strcasecmp
#endif
#ifndef STRNCASECMP
#define STRNCASECMP strncasecmp
#endif
#ifndef STRCPY
#define STRCPY(to, size, from) strcpy(to, from)
#endif
#ifndef FOPEN
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#endif
#ifndef FOPEN_FAIL
#define FOPEN_FAIL(result) ((result) == NULL)
#endif
#ifndef SSCANF
#define SSCANF sscanf
#endif
#ifndef SPRINTF
#define SPRINTF sprintf
#endif
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

inline int stringRemoveDelimiter(char delimiter, const char *text) {
  int begin = 0;
  while (text[begin] == delimiter) begin++;
  return text[begin] ? begin : 0;
}

inline int getFileExtension(char *name, char **extension) {
  char *dot = strrchr(name, '.');
  *extension = dot ? dot + 1 : nullptr;
  return dot ? static_cast<int>(dot + 1 - name) : 0;
}

// What follows the name of an option: "" or its value; nullptr where the option is not given.
inline const char *__dl_option(const int argc, const char **argv, const char *name) {
  size_t length = strlen(name);
  if (length && name[length - 1] == '=') length--;  // programs say "device" and "device="
  for (int k = 1; k < argc; k++) {
    if (argv[k][0] != '-') continue;
    const char *word = argv[k] + stringRemoveDelimiter('-', argv[k]);
    if (STRNCASECMP(word, name, length)) continue;
    if (!word[length]) return word + length;
    if (word[length] == '=') return word + length + 1;
  }
  return nullptr;
}

inline bool checkCmdLineFlag(const int argc, const char **argv, const char *name) {
  return __dl_option(argc, argv, name) != nullptr;
}

template <class T>
inline bool getCmdLineArgumentValue(const int argc, const char **argv, const char *name, T *value) {
  const char *text = __dl_option(argc, argv, name);
  if (text) *value = static_cast<T>(atof(text));
  return text != nullptr;
}

inline int getCmdLineArgumentInt(const int argc, const char **argv, const char *name) {
  const char *text = __dl_option(argc, argv, name);
  return text ? atoi(text) : 0;
}

inline float getCmdLineArgumentFloat(const int argc, const char **argv, const char *name) {
  const char *text = __dl_option(argc, argv, name);
  return text ? static_cast<float>(atof(text)) : 0.0f;
}

inline bool getCmdLineArgumentString(const int argc, const char **argv, const char *name, char **value) {
  *value = const_cast<char *>(__dl_option(argc, argv, name));
  return *value != nullptr;
}

// A path of a file of a sample's, for the caller to free: here, above or beside the executable, or in the folders that
// samples keep data in; nullptr where there is none.
inline char *sdkFindFilePath(const char *name, const char *executable) {
  std::string beside;
  if (executable) {
    const char *slash = strrchr(executable, '/');
    beside.assign(executable, slash ? slash + 1 - executable : 0);
  }
  const std::string starts[] = {"", beside};
  static const char *const folders[] = {"", "data/", "Data/", "src/", "inc/", "common/", "common/data/", "Common/", "Common/data/"};
  for (const std::string &start : starts) {
    std::string above;
    for (int level = 0; level < 5; level++, above += "../") {
      for (const char *folder : folders) {
        const std::string path = start + above + folder + name;
        if (std::ifstream(path)) return strdup(path.c_str());
      }
    }
  }
  return nullptr;
}
