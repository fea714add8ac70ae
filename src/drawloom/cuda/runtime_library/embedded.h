// What a program has embedded for each of its sources: device code by kind, behind a magic number and a key.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace drawloom {

constexpr char kMagic[] = "DRAWLOOM";
constexpr size_t kKeyAt = 8, kKeyBytes = 64, kImagesAt = kKeyAt + kKeyBytes;
// Kinds that are not the number of an architecture.
constexpr uint64_t kPtxImage = 0, kCommandImage = 1;

struct Code {
  uint64_t kind, size;
  const char *bytes;
};

inline bool is_ours(const char *blob) { return blob && !strncmp(blob, kMagic, kKeyAt); }

inline std::string key_of(const char *blob) { return std::string(blob + kKeyAt, strnlen(blob + kKeyAt, kKeyBytes)); }

inline std::vector<Code> codes_of(const char *blob) {
  std::vector<Code> all;
  uint64_t count = 0;
  memcpy(&count, blob + kImagesAt, sizeof count);
  const char *at = blob + kImagesAt + sizeof count;
  for (uint64_t i = 0; i < count; ++i) {
    Code one{0, 0, at + 16};
    memcpy(&one.kind, at, 8);
    memcpy(&one.size, at + 8, 8);
    all.push_back(one);
    at += 16 + (one.size + 7) / 8 * 8;
  }
  return all;
}

}  // namespace drawloom
