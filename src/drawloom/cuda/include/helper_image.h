// Pictures (PGM, PPM) and arrays in files of CUDA's samples: read, written and compared.
#pragma once
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "helper_string.h"

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef __MIN_EPSILON_ERROR
#define __MIN_EPSILON_ERROR 1e-3f
#endif

inline void __dl_from_byte(unsigned char from, unsigned char *to) { *to = from; }
inline void __dl_from_byte(unsigned char from, float *to) { *to = from / 255.0f; }
inline unsigned char __dl_to_byte(unsigned char from) { return from; }
inline unsigned char __dl_to_byte(float from) { return static_cast<unsigned char>(from * 255.0f); }

// The next number of a header, after blanks and comments; 0 where there is none.
inline unsigned int __dl_next_number(FILE *file) {
  int c = fgetc(file);
  while (c == '#' || c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    if (c == '#')
      while (c != '\n' && c != EOF) c = fgetc(file);
    else
      c = fgetc(file);
  }
  unsigned int number = 0;
  for (; c >= '0' && c <= '9'; c = fgetc(file)) number = number * 10 + (c - '0');
  return number;
}

// Reads a binary PGM (one channel) or PPM (three) of bytes; *data is allocated with malloc where it is nullptr, and else
// must hold a picture of *w by *h.
inline bool __loadPPM(const char *name, unsigned char **data, unsigned int *w, unsigned int *h, unsigned int *channels) {
  FILE *file = fopen(name, "rb");
  if (!file) {
    std::cerr << "__LoadPPM() : Failed to open file: " << name << std::endl;
    return false;
  }
  char magic[2] = {};
  bool fine = fread(magic, 1, 2, file) == 2 && magic[0] == 'P' && (magic[1] == '5' || magic[1] == '6');
  if (fine) {
    *channels = magic[1] == '5' ? 1 : 3;
    const unsigned int width = __dl_next_number(file), height = __dl_next_number(file), most = __dl_next_number(file);
    fine = width && height && most && most < 256 && (!*data || (*w == width && *h == height));
    const size_t size = static_cast<size_t>(width) * height * *channels;
    if (fine && !*data) *data = static_cast<unsigned char *>(malloc(size));
    fine = fine && fread(*data, 1, size, file) == size;
    *w = width, *h = height;
  }
  if (!fine) std::cerr << "__LoadPPM() : File is not a PPM or PGM image of bytes: " << name << std::endl;
  fclose(file);
  return fine;
}

inline bool __savePPM(const char *name, unsigned char *data, unsigned int w, unsigned int h, unsigned int channels) {
  std::ofstream file(name, std::ios::binary);
  file << (channels == 1 ? "P5\n" : "P6\n") << w << "\n" << h << "\n" << 255 << "\n";
  file.write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(w) * h * channels);
  if (!file.good()) std::cerr << "__savePPM() : Writing data failed: " << name << std::endl;
  return file.good();
}

template <class T> inline bool sdkLoadPGM(const char *name, T **data, unsigned int *w, unsigned int *h) {
  unsigned char *bytes = nullptr;
  unsigned int channels, width, height;
  if (!__loadPPM(name, &bytes, &width, &height, &channels)) return false;
  if (channels != 1 || (*data && (*w != width || *h != height))) {
    free(bytes);
    return false;
  }
  const size_t size = static_cast<size_t>(width) * height;
  if (!*data) *data = static_cast<T *>(malloc(size * sizeof(T)));
  for (size_t k = 0; k < size; k++) __dl_from_byte(bytes[k], *data + k);
  *w = width, *h = height;
  free(bytes);
  return true;
}
template <class T> inline bool sdkSavePGM(const char *name, T *data, unsigned int w, unsigned int h) {
  std::vector<unsigned char> bytes(static_cast<size_t>(w) * h);
  for (size_t k = 0; k < bytes.size(); k++) bytes[k] = __dl_to_byte(data[k]);
  return __savePPM(name, bytes.data(), w, h, 1);
}
inline bool sdkLoadPPMub(const char *name, unsigned char **data, unsigned int *w, unsigned int *h) {
  unsigned int channels;
  return __loadPPM(name, data, w, h, &channels);
}
inline bool sdkLoadPPM4ub(const char *name, unsigned char **data, unsigned int *w, unsigned int *h) {
  unsigned char *bytes = nullptr;
  unsigned int channels;
  if (!__loadPPM(name, &bytes, w, h, &channels)) return false;
  const size_t size = static_cast<size_t>(*w) * *h;
  *data = static_cast<unsigned char *>(malloc(size * 4));
  for (size_t k = 0; k < size; k++) {
    for (int c = 0; c < 3; c++) (*data)[4 * k + c] = bytes[channels == 1 ? k : 3 * k + c];
    (*data)[4 * k + 3] = 0;
  }
  free(bytes);
  return true;
}
template <class T> inline bool sdkLoadPPM4(const char *name, T **data, unsigned int *w, unsigned int *h) {
  unsigned char *bytes = nullptr;
  if (!sdkLoadPPM4ub(name, &bytes, w, h)) return false;
  const size_t size = static_cast<size_t>(*w) * *h * 4;
  if (!*data) *data = static_cast<T *>(malloc(size * sizeof(T)));
  for (size_t k = 0; k < size; k++) __dl_from_byte(bytes[k], *data + k);
  free(bytes);
  return true;
}
inline bool sdkSavePPM4ub(const char *name, unsigned char *data, unsigned int w, unsigned int h) {
  std::vector<unsigned char> bytes(static_cast<size_t>(w) * h * 3);
  for (size_t k = 0; k < bytes.size(); k++) bytes[k] = data[k / 3 * 4 + k % 3];
  return __savePPM(name, bytes.data(), w, h, 3);
}

template <class T> inline bool sdkReadFile(const char *name, T **data, unsigned int *length, bool verbose) {
  std::ifstream file(name);
  std::vector<T> values;
  if (!file.good()) {
    if (verbose) std::cerr << "sdkReadFile() : Opening file failed: " << name << std::endl;
    return false;
  }
  for (T value; file >> value;) values.push_back(value);
  if (*data && *length != values.size()) {
    std::cerr << "sdkReadFile() : Initialized memory given but size mismatch with signal read." << std::endl;
    return false;
  }
  if (!*data) *data = static_cast<T *>(malloc(sizeof(T) * values.size()));
  *length = static_cast<unsigned int>(values.size());
  std::copy(values.begin(), values.end(), *data);
  return true;
}
template <class T>
inline bool sdkReadFileBlocks(const char *name, T **data, unsigned int *length, unsigned int block, unsigned int size,
                              bool verbose) {
  std::ifstream file(name, std::ios::binary);
  if (!file.good()) {
    if (verbose) std::cerr << "sdkReadFileBlocks() : Opening file failed: " << name << std::endl;
    return false;
  }
  file.seekg(static_cast<std::streamoff>(block) * size * sizeof(T));
  data[block] = static_cast<T *>(malloc(static_cast<size_t>(size) * sizeof(T)));
  file.read(reinterpret_cast<char *>(data[block]), static_cast<std::streamsize>(size) * sizeof(T));
  *length = static_cast<unsigned int>(file.gcount() / sizeof(T));
  return *length > 0;
}
template <class T, class S>
inline bool sdkWriteFile(const char *name, const T *data, unsigned int length, const S epsilon, bool verbose,
                         bool append = false) {
  std::ofstream file(name, append ? std::ios::app : std::ios::trunc);
  if (!append) file << "# " << epsilon << "\n";
  for (unsigned int k = 0; k < length; k++) file << data[k] << ' ';
  file << std::endl;
  if (!file.good() && verbose) std::cerr << "sdkWriteFile() : Writing failed: " << name << std::endl;
  return file.good();
}

// Whether at most a share `threshold` of the elements differ by more than `epsilon`.
template <class T, class S>
inline bool compareData(const T *reference, const T *data, const unsigned int length, const S epsilon,
                        const float threshold) {
  unsigned int wrong = 0;
  for (unsigned int k = 0; k < length; k++) {
    const double difference = static_cast<double>(reference[k]) - static_cast<double>(data[k]);
    wrong += !(fabs(difference) <= static_cast<double>(epsilon));
  }
  return wrong <= static_cast<double>(length) * threshold;
}
template <class T, class S>
inline bool compareDataAsFloatThreshold(const T *reference, const T *data, const unsigned int length, const S epsilon,
                                        const float threshold) {
  const float most = MAX(static_cast<float>(epsilon), __MIN_EPSILON_ERROR);
  const bool same = compareData(reference, data, length, most, threshold);
  if (!same) printf("  The arrays differ by more than %f in more than %f of their elements\n", most, threshold);
  return same;
}
inline bool sdkCompareL2fe(const float *reference, const float *data, const unsigned int length, const float epsilon) {
  double error = 0, norm = 0;
  for (unsigned int k = 0; k < length; k++) {
    const double difference = static_cast<double>(reference[k]) - data[k];
    error += difference * difference;
    norm += static_cast<double>(reference[k]) * reference[k];
  }
  if (norm == 0) return false;
  return sqrt(error) / sqrt(norm) < epsilon;
}

inline void sdkDumpBin(void *data, unsigned int bytes, const char *name) {
  printf("sdkDumpBin: <%s>\n", name);
  std::ofstream(name, std::ios::binary).write(static_cast<const char *>(data), bytes);
}

template <class T> inline bool __dl_read_binary(const char *name, unsigned int count, std::vector<T> &data) {
  data.resize(count);
  std::ifstream file(name, std::ios::binary);
  file.read(reinterpret_cast<char *>(data.data()), static_cast<std::streamsize>(count) * sizeof(T));
  if (!file) printf("cannot read %u elements of <%s>\n", count, name);
  return bool(file);
}
template <class T>
inline bool __dl_compare_binary(const char *source, const char *reference, unsigned int count, const float epsilon,
                                const float threshold, char *executable) {
  char *path = sdkFindFilePath(reference, executable);
  std::vector<T> a, b;
  const bool read = __dl_read_binary(source, count, a) && path && __dl_read_binary(path, count, b);
  free(path);
  return read && compareData(b.data(), a.data(), count, epsilon, threshold);
}
inline bool sdkCompareBin2BinUint(const char *source, const char *reference, unsigned int count, const float epsilon,
                                  const float threshold, char *executable) {
  return __dl_compare_binary<unsigned int>(source, reference, count, epsilon, threshold, executable);
}
inline bool sdkCompareBin2BinFloat(const char *source, const char *reference, unsigned int count, const float epsilon,
                                   const float threshold, char *executable) {
  return __dl_compare_binary<float>(source, reference, count, epsilon, threshold, executable);
}

inline bool __dl_compare_images(const char *source, const char *reference, const float epsilon, const float threshold,
                                bool verbose, unsigned int channels) {
  unsigned char *a = nullptr, *b = nullptr;
  unsigned int w[2] = {}, h[2] = {}, c[2] = {};
  bool same = source && reference && __loadPPM(source, &a, w, h, c) && __loadPPM(reference, &b, w + 1, h + 1, c + 1) &&
              w[0] == w[1] && h[0] == h[1] && c[0] == c[1] && c[0] == channels;
  same = same && compareData(b, a, w[0] * h[0] * channels, epsilon, threshold);
  if (verbose) std::cerr << (same ? "     OK" : "     FAILURE: the images differ") << std::endl;
  free(a);
  free(b);
  return same;
}
inline bool sdkComparePPM(const char *source, const char *reference, const float epsilon, const float threshold,
                          bool verbose) {
  return __dl_compare_images(source, reference, epsilon, threshold, verbose, 3);
}
inline bool sdkComparePGM(const char *source, const char *reference, const float epsilon, const float threshold,
                          bool verbose) {
  return __dl_compare_images(source, reference, epsilon, threshold, verbose, 1);
}
