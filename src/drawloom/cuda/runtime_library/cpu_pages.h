// Memory of allocations on the CPU device: pages of their own between pages that can only be read. So an access a little
// before or after an allocation is as on a GPU, where its neighbourhood is mapped, as long as it only reads; a write there
// is a fault of its kernel, and harms neither the host's heap nor another allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace drawloom {

//   kSlack: read, not written | pages, of which the allocation has the end | kSlack
// What is freed serves again. Small allocations beyond the first kMostOwn share pages, as a process has 65530 mappings.
class Pages {
 public:
  static constexpr size_t kSlack = size_t(1) << 20;
  static constexpr size_t kAlignment = 256;  // of what `take` gives

  // Uncleared memory; null where there is none left.
  void *take(size_t size, size_t alignment = kAlignment);
  void give(void *memory, size_t size);

 private:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kMostOwn = 8192;                  // mappings of small allocations, in use and free
  static constexpr size_t kSmall = size_t(64) << 10;        // larger ones always have pages of their own
  static constexpr size_t kChunk = size_t(4) << 20;         // of small ones that share
  static constexpr size_t kMostFree = size_t(64) << 20;     // bytes of free pages that are not given back

  static size_t whole_pages(size_t size);
  char *map(size_t bytes);
  void unmap(char *pages, size_t bytes);
  void *share(size_t size);

  std::map<size_t, std::vector<char *>> free_;              // pages, by their bytes
  std::map<size_t, std::vector<void *>> free_parts_;        // of chunks, by their bytes
  std::map<uint64_t, char *, std::greater<uint64_t>> chunks_;  // by their first address
  char *next_ = nullptr;                                    // in the newest chunk
  size_t left_ = 0, free_bytes_ = 0, own_ = 0;
};

}  // namespace drawloom
