// Streams of the CPU device: work that is given to one is done in order, by a thread of its own, as soon as what it must
// come after is done (CUDA C++ Programming Guide, "Streams" and "Default Stream").
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>

#include "device.h"

struct CUstream_st;

namespace drawloom {

using Queue = std::shared_ptr<CUstream_st>;

// One piece of work: number `number`, from 1, of a queue. The first state of an event has no queue and is done.
struct Ticket {
  Queue queue;
  uint64_t number = 0;
};

class Streams {
 public:
  static cudaStream_t create(unsigned flags, int priority);
  // What it was given is still done. False for what is no stream.
  static bool destroy(cudaStream_t stream);
  // Null for what is no stream.
  static Queue find(cudaStream_t stream);

  // Gives a stream work that comes behind all before it, and `after`. Work that is `brief` is done at once where nothing
  // is before it.
  static Ticket add(const Queue &queue, std::function<void()> work, bool brief = false, Ticket after = {});
  // Claims the turn of a stream that has nothing to do, for work that the calling thread does at once: what the stream
  // is given meanwhile waits for `end`. False where something is before it.
  static bool begin(const Queue &queue);
  static void end(const Queue &queue);
  static bool done(const Ticket &ticket);
  static bool done(const Queue &queue);
  static void wait(const Ticket &ticket);
  // For all that a queue was given; the legacy default stream also waits for those that it keeps order with.
  static void wait(const Queue &queue);
  static void wait();

  // Whether the calling thread is a stream's: a host function may not call the interface.
  static bool inside();
};

}  // namespace drawloom

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  struct Work {
    std::function<void()> run;
    std::vector<drawloom::Ticket> after;
  };
  std::deque<Work> works;  // not begun yet
  uint64_t given = 0, done = 0;

  // Whether all that was given before the first of the works is done: a thread of the program may be at it.
  bool ready() const { return !works.empty() && done + works.size() == given; }
  bool started = false, closed = false;
  std::condition_variable more;
};
