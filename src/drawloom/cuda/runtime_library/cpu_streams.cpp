// Queues of work, the threads that empty them, and the order between them.
#include "cpu_streams.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "cpu_pool.h"

namespace drawloom {
namespace {

typedef std::unique_lock<std::mutex> Lock;

// Never destroyed: threads wait in it when the program ends.
struct Shared {
  std::mutex mutex;
  std::condition_variable finished;
  std::map<cudaStream_t, Queue> queues;  // all but the legacy default stream
  Queue legacy = std::make_shared<CUstream_st>();
};
thread_local bool is_a_streams;  // this thread

void at_exit() {  // what was launched is done, as far as nothing broke; not where a host function ends the program
  if (!is_a_streams) Streams::wait();
}

Shared &shared() {
  static Shared *one = [] {
    std::atexit(at_exit);
    return new Shared;
  }();
  return *one;
}

// The default stream of a thread, which ends with it.
struct OfThread {
  Queue queue = Streams::find(Streams::create(cudaStreamDefault, 0));
  ~OfThread() { Streams::destroy(queue.get()); }
};

bool is_done(const Ticket &ticket) { return !ticket.queue || ticket.queue->done >= ticket.number; }
Ticket last_of(const Queue &queue) { return {queue, queue->given}; }

// What new work of a queue comes after, besides the queue's own: the legacy default stream and the blocking ones keep
// order with each other.
std::vector<Ticket> before(const Queue &queue) {
  std::vector<Ticket> all;
  auto note = [&](const Queue &other) {
    if (other != queue && other->done < other->given) all.push_back(last_of(other));
  };
  if (queue == shared().legacy) {
    for (const auto &one : shared().queues)
      if (!(one.second->flags & cudaStreamNonBlocking)) note(one.second);
  } else if (!(queue->flags & cudaStreamNonBlocking)) {
    note(shared().legacy);
  }
  return all;
}

void wait_in(Lock &lock, const Ticket &ticket) {
  shared().finished.wait(lock, [&] { return is_done(ticket); });
}

// Does the first of a queue's works.
void run_first(Lock &lock, const Queue &queue) {
  CUstream_st::Work work = std::move(queue->works.front());
  queue->works.pop_front();
  for (const Ticket &ticket : work.after) wait_in(lock, ticket);
  lock.unlock();
  work.run();
  lock.lock();
  ++queue->done;
  shared().finished.notify_all();
}

void *serve(void *given) {
  std::unique_ptr<Queue> queue(static_cast<Queue *>(given));
  CUstream_st &mine = **queue;
  is_a_streams = true;
  Lock lock(shared().mutex);
  for (;;) {
    mine.more.wait(lock, [&] { return mine.ready() || (mine.closed && mine.works.empty()); });
    if (mine.works.empty()) break;
    run_first(lock, *queue);
  }
  shared().queues.erase(queue->get());
  return nullptr;
}

}  // namespace

cudaStream_t Streams::create(unsigned flags, int priority) {
  Queue queue = std::make_shared<CUstream_st>();
  queue->flags = flags;
  queue->priority = priority;
  Lock lock(shared().mutex);
  shared().queues[queue.get()] = queue;
  return queue.get();
}

bool Streams::destroy(cudaStream_t stream) {
  Queue queue = find(stream);
  if (!queue || queue == shared().legacy) return false;
  Lock lock(shared().mutex);
  queue->closed = true;
  if (!queue->started) shared().queues.erase(stream);
  queue->more.notify_one();
  return true;
}

Queue Streams::find(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy) return shared().legacy;
  if (stream == cudaStreamPerThread) {
    static thread_local OfThread mine;
    return mine.queue;
  }
  Lock lock(shared().mutex);
  auto found = shared().queues.find(stream);
  return found == shared().queues.end() || found->second->closed ? nullptr : found->second;
}

Ticket Streams::add(const Queue &queue, std::function<void()> work, bool brief, Ticket after) {
  Lock lock(shared().mutex);
  std::vector<Ticket> all = before(queue);
  if (!is_done(after)) all.push_back(after);
  Ticket ticket{queue, ++queue->given};
  if (brief && all.empty() && queue->done + 1 == queue->given) {
    work();
    ++queue->done;
    return ticket;
  }
  queue->works.push_back({std::move(work), std::move(all)});
  if (!queue->started) start_thread(serve, new Queue(queue));
  queue->started = true;
  queue->more.notify_one();
  return ticket;
}

bool Streams::begin(const Queue &queue) {
  Lock lock(shared().mutex);
  if (queue->done != queue->given || !before(queue).empty()) return false;
  ++queue->given;
  return true;
}

void Streams::end(const Queue &queue) {
  Lock lock(shared().mutex);
  ++queue->done;
  shared().finished.notify_all();
  if (queue->ready()) queue->more.notify_one();
}

bool Streams::done(const Ticket &ticket) {
  Lock lock(shared().mutex);
  return is_done(ticket);
}

bool Streams::done(const Queue &queue) {
  Lock lock(shared().mutex);
  return queue->done == queue->given && before(queue).empty();
}

void Streams::wait(const Ticket &ticket) {
  Lock lock(shared().mutex);
  wait_in(lock, ticket);
}

void Streams::wait(const Queue &queue) {
  Lock lock(shared().mutex);
  std::vector<Ticket> all = before(queue);
  all.push_back(last_of(queue));
  for (const Ticket &ticket : all) wait_in(lock, ticket);
}

void Streams::wait() {
  Lock lock(shared().mutex);
  std::vector<Ticket> all{last_of(shared().legacy)};
  for (const auto &one : shared().queues) all.push_back(last_of(one.second));
  for (const Ticket &ticket : all) wait_in(lock, ticket);
}

bool Streams::inside() { return is_a_streams; }

}  // namespace drawloom
