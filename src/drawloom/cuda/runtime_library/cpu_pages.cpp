// From sizes to pages of the operating system.
#include "cpu_pages.h"

#include <sys/mman.h>

#include <algorithm>

namespace drawloom {

static size_t round_up(size_t size, size_t unit) { return (std::max<size_t>(size, 1) + unit - 1) / unit * unit; }

size_t Pages::whole_pages(size_t size) { return round_up(size, kPage); }

// Pages that can be written, with slack around them; null where there are none left.
char *Pages::map(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;  // what can only be read is not reserved
  void *found = mmap(nullptr, bytes + 2 * kSlack, PROT_READ, kFlags, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  char *pages = static_cast<char *>(found) + kSlack;
  if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0) return pages;
  munmap(found, bytes + 2 * kSlack);
  return nullptr;
}

void *Pages::take(size_t size, size_t alignment) {
  size_t bytes = whole_pages(size);
  char *pages = nullptr;
  auto kept = free_.find(bytes);
  if (kept != free_.end() && !kept->second.empty()) {
    pages = kept->second.back();
    kept->second.pop_back();
    free_bytes_ -= bytes;
  } else {
    bool small = bytes <= kSmall;
    if (small && own_ >= kMostOwn && alignment <= kAlignment) return share(size);
    pages = map(bytes);
    if (!pages) return nullptr;
    own_ += small;
  }
  return pages + bytes - round_up(size, alignment);  // what is past the end is in the next page
}

void *Pages::share(size_t size) {
  size_t bytes = round_up(size, kAlignment);
  auto &parts = free_parts_[bytes];
  if (!parts.empty()) {
    void *part = parts.back();
    parts.pop_back();
    return part;
  }
  if (left_ < bytes) {
    char *chunk = map(kChunk);
    if (!chunk) return nullptr;
    chunks_[reinterpret_cast<uint64_t>(chunk)] = chunk;
    next_ = chunk;
    left_ = kChunk;
  }
  void *part = next_;
  next_ += bytes;
  left_ -= bytes;
  return part;
}

void Pages::give(void *memory, size_t size) {
  uint64_t address = reinterpret_cast<uint64_t>(memory);
  auto chunk = chunks_.lower_bound(address);
  if (chunk != chunks_.end() && address - chunk->first < kChunk) {
    free_parts_[round_up(size, kAlignment)].push_back(memory);
    return;
  }
  size_t bytes = whole_pages(size);
  char *pages = reinterpret_cast<char *>(address / kPage * kPage);
  if (free_bytes_ + bytes > kMostFree) {  // what was freed lately is what is asked for next
    for (auto &one : free_)
      for (char *other : one.second) unmap(other, one.first);
    free_.clear();
    free_bytes_ = 0;
  }
  if (bytes > kMostFree) return unmap(pages, bytes);
  free_[bytes].push_back(pages);
  free_bytes_ += bytes;
}

void Pages::unmap(char *pages, size_t bytes) {
  own_ -= bytes <= kSmall;
  munmap(pages - kSlack, bytes + 2 * kSlack);
}

}  // namespace drawloom
