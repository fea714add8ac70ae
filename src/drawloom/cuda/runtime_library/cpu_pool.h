// Threads that run kernels: those of streams, and one for each core that helps, started once. All have stacks that device
// functions may recurse on.
#pragma once
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>

#include "settings.h"

namespace drawloom {

constexpr size_t kStackBytes = size_t(64) << 20;  // STACK_LIMIT, and some more

inline void start_thread(void *(*enter)(void *), void *given) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, enter, given)) std::abort();  // no memory for one more stack
  pthread_attr_destroy(&attributes);
}

class Pool {
 public:
  // The cores that this process may use, or DRAWLOOM_THREADS.
  static int cores() {
    if (int wanted = settings().threads) return std::min(wanted, kMost);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return 1;
  }

  // Runs body(0) to body(workers - 1), each on a thread of its own, of which the calling one, a stream's, is the first;
  // those that have not begun when it is done have nothing left to do, and do not begin. Where there is a `look`, the
  // calling thread calls it about every 50 ms instead, while all the others run.
  void run(int workers, const std::function<void(int)> &body, const std::function<void()> &look) {
    int first = look ? 0 : 1;
    if (workers == first) return body(0);
    std::unique_lock<std::mutex> lock(mutex_);
    first_ = first;
    while (started_ < workers) start(started_++);
    body_ = &body;
    workers_ = workers;
    left_ = workers - first;
    begun_ = 0;
    ++job_;
    begin_.notify_all();
    if (!look) {
      lock.unlock();
      body(0);
      lock.lock();
      left_ -= workers - first - begun_;
      workers_ = 0;
      end_.wait(lock, [this] { return left_ == 0; });
    }
    while (!end_.wait_for(lock, std::chrono::milliseconds(50), [this] { return left_ == 0; })) {
      lock.unlock();
      look();
      lock.lock();
    }
    body_ = nullptr;
  }

 private:
  static constexpr int kMost = 1024;

  struct Start {
    Pool *pool;
    int index;
    unsigned long job;
  };

  void start(int index) {
    start_thread(enter, new Start{this, index, job_});
  }

  static void *enter(void *start) {
    Start given = *static_cast<Start *>(start);
    delete static_cast<Start *>(start);
    given.pool->work(given.index, given.job);
    return nullptr;
  }

  void work(int index, unsigned long seen) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      begin_.wait(lock, [&] { return job_ != seen; });
      seen = job_;
      if (index < first_ || index >= workers_) continue;
      const std::function<void(int)> *body = body_;
      ++begun_;
      lock.unlock();
      (*body)(index);
      lock.lock();
      if (--left_ == 0) end_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int)> *body_ = nullptr;
  int started_ = 0, first_ = 0, workers_ = 0, begun_ = 0, left_ = 0;
  unsigned long job_ = 0;
};

}  // namespace drawloom
