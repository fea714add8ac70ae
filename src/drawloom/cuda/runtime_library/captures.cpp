// The captures under way, and the rules between them and other calls.
#include "captures.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

namespace drawloom {
namespace {

// One capture: the streams in it, and for each the nodes that its next work comes after.
struct Capture {
  unsigned long long id;
  uintptr_t origin;
  std::thread::id thread;
  cudaStreamCaptureMode mode;
  CUgraph_st *graph;
  bool owned;  // the graph, until the capture ends
  bool invalid = false, blocking = false, ended = false;
  std::map<uintptr_t, std::vector<CUgraphNode_st *>> heads;
  std::vector<CUgraphNode_st *> left;  // the last nodes of streams that were destroyed meanwhile
};

struct CapturedEvent {
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode_st *> heads;
};

// Never destroyed: static destructors of programs may still call.
struct CaptureState {
  std::mutex mutex;
  std::map<uintptr_t, std::shared_ptr<Capture>> streams;
  std::map<cudaEvent_t, CapturedEvent> events;
  unsigned long long last_id = 0;
  std::atomic<size_t> count{0};  // of streams and events

  void recount() { count = streams.size() + events.size(); }
};
CaptureState &captures() {
  static CaptureState *one = new CaptureState;
  return *one;
}
typedef std::lock_guard<std::mutex> CaptureLock;

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// The default stream of a thread has one handle for all threads.
uintptr_t key_of(cudaStream_t stream) {
  static thread_local char mine;
  return stream == cudaStreamPerThread ? reinterpret_cast<uintptr_t>(&mine) : reinterpret_cast<uintptr_t>(stream);
}
bool is_legacy(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }

std::shared_ptr<Capture> capture_of(cudaStream_t stream) {
  auto found = captures().streams.find(key_of(stream));
  return found == captures().streams.end() ? nullptr : found->second;
}

cudaError_t invalidate(Capture &capture, cudaError_t error) {
  capture.invalid = true;
  return error;
}

cudaError_t invalidate_all(cudaError_t error) {
  for (auto &one : captures().streams) one.second->invalid = true;
  return error;
}

// The legacy default stream keeps order with all blocking streams, so also with those that are captured.
cudaError_t check_legacy(cudaStream_t stream) {
  if (!is_legacy(stream)) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (auto &one : captures().streams)
    if (one.second->blocking) error = invalidate(*one.second, cudaErrorStreamCaptureImplicit);
  return error;
}

cudaError_t check_unsafe() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (auto &one : captures().streams) {
    Capture &capture = *one.second;
    bool own = capture.thread == std::this_thread::get_id() && capture.mode != cudaStreamCaptureModeRelaxed;
    bool global = thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
    if (own || global) error = invalidate(capture, cudaErrorStreamCaptureUnsupported);
  }
  return error;
}

void join(Device &device, const std::shared_ptr<Capture> &capture, cudaStream_t stream,
          std::vector<CUgraphNode_st *> heads) {
  unsigned flags = 0;
  if (stream == cudaStreamPerThread || (!device.flags(stream, &flags, nullptr) && !(flags & cudaStreamNonBlocking)))
    capture->blocking = true;
  capture->heads[key_of(stream)] = std::move(heads);
  captures().streams[key_of(stream)] = capture;
  captures().recount();
}

void add_heads(std::vector<CUgraphNode_st *> &to, const std::vector<CUgraphNode_st *> &more) {
  for (CUgraphNode_st *node : more)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

// Whether every stream that joined came back: its last work is before the origin's last.
bool is_joined(const Capture &capture) {
  std::vector<CUgraphNode_st *> todo = capture.heads.at(capture.origin);
  std::set<CUgraphNode_st *> before(todo.begin(), todo.end());
  while (!todo.empty()) {
    CUgraphNode_st *node = todo.back();
    todo.pop_back();
    for (CUgraphNode_st *one : node->dependencies)
      if (before.insert(one).second) todo.push_back(one);
  }
  auto is_before = [&](CUgraphNode_st *node) { return before.count(node) != 0; };
  for (auto &one : capture.heads)
    if (!std::all_of(one.second.begin(), one.second.end(), is_before)) return false;
  return std::all_of(capture.left.begin(), capture.left.end(), is_before);
}

void end_capture(Capture &capture) {
  for (auto &one : capture.heads) captures().streams.erase(one.first);
  capture.ended = true;
  captures().recount();
}

}  // namespace

bool Captures::any() { return captures().count.load(std::memory_order_relaxed) != 0; }

CUgraph_st *Captures::graph() { return new CUgraph_st; }

cudaError_t Captures::begin(Device &device, cudaStream_t stream, CUgraph_st *into, const cudaGraphNode_t *dependencies,
                            size_t count, cudaStreamCaptureMode mode) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (is_legacy(stream)) return cudaErrorStreamCaptureUnsupported;
  unsigned flags;
  if (cudaError_t error = device.flags(stream, &flags, nullptr)) return error;
  CaptureLock lock(captures().mutex);
  if (capture_of(stream)) return cudaErrorIllegalState;
  auto made = std::make_shared<Capture>();
  made->id = ++captures().last_id;
  made->origin = key_of(stream);
  made->thread = std::this_thread::get_id();
  made->mode = mode;
  made->owned = !into;
  made->graph = into ? into : graph();
  join(device, made, stream, {dependencies, dependencies + count});
  return cudaSuccess;
}

cudaError_t Captures::end(cudaStream_t stream, cudaGraph_t *graph) {
  CaptureLock lock(captures().mutex);
  *graph = nullptr;
  std::shared_ptr<Capture> capture = capture_of(stream);
  if (!capture) return cudaErrorIllegalState;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  if (capture->origin != key_of(stream)) return invalidate(*capture, cudaErrorStreamCaptureUnmatched);
  cudaError_t error = capture->invalid         ? cudaErrorStreamCaptureInvalidated
                      : !is_joined(*capture) ? cudaErrorStreamCaptureUnjoined
                                             : cudaSuccess;
  end_capture(*capture);
  if (!error)
    *graph = capture->graph;
  else if (capture->owned)
    delete capture->graph;
  return error;
}

cudaError_t Captures::info(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                           cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count) {
  CaptureLock lock(captures().mutex);
  for (auto &one : captures().streams)
    if (is_legacy(stream) && one.second->blocking) return cudaErrorStreamCaptureImplicit;
  std::shared_ptr<Capture> capture = capture_of(stream);
  *status = !capture            ? cudaStreamCaptureStatusNone
            : capture->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  const std::vector<CUgraphNode_st *> &heads = capture->heads.at(key_of(stream));
  if (id) *id = capture->id;
  if (graph) *graph = capture->graph;
  if (dependencies) *dependencies = heads.data();
  if (count) *count = heads.size();
  return cudaSuccess;
}

cudaError_t Captures::update(cudaStream_t stream, const cudaGraphNode_t *dependencies, size_t count, bool replaces) {
  CaptureLock lock(captures().mutex);
  std::shared_ptr<Capture> capture = capture_of(stream);
  if (!capture) return cudaErrorIllegalState;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  std::vector<CUgraphNode_st *> &heads = capture->heads.at(key_of(stream));
  if (replaces) heads.clear();
  add_heads(heads, {dependencies, dependencies + count});
  return cudaSuccess;
}

void Captures::exchange(cudaStreamCaptureMode &mode) { std::swap(mode, thread_mode); }

cudaError_t Captures::add(cudaStream_t stream, bool &captured, const std::function<cudaError_t(Operation &)> &make) {
  captured = false;
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  std::shared_ptr<Capture> capture = capture_of(stream);
  if (!capture) return check_legacy(stream);
  captured = true;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  Operation operation;
  if (cudaError_t error = make(operation)) return invalidate(*capture, error);
  std::vector<CUgraphNode_st *> &heads = capture->heads.at(key_of(stream));
  heads = {capture->graph->add(std::move(operation), heads.data(), heads.size())};
  return cudaSuccess;
}

cudaError_t Captures::record(cudaEvent_t event, cudaStream_t stream, bool &captured) {
  captured = false;
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture) {
    captured = true;
    if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
    captures().events[event] = {capture, capture->heads.at(key_of(stream))};
  } else {
    if (cudaError_t error = check_legacy(stream)) return error;
    captures().events.erase(event);
  }
  captures().recount();
  return cudaSuccess;
}

cudaError_t Captures::wait(Device &device, cudaStream_t stream, cudaEvent_t event, bool &captured) {
  captured = false;
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  std::shared_ptr<Capture> capture = capture_of(stream);
  auto found = captures().events.find(event);
  std::shared_ptr<Capture> its = found == captures().events.end() ? nullptr : found->second.capture;
  if (!capture && (!its || its->ended)) return its ? cudaErrorCapturedEvent : check_legacy(stream);
  captured = true;
  if ((capture && capture->invalid) || (its && its->invalid)) return cudaErrorStreamCaptureInvalidated;
  if (!its || its->ended) return invalidate(*capture, cudaErrorStreamCaptureIsolation);
  if (is_legacy(stream)) return invalidate(*its, cudaErrorStreamCaptureImplicit);
  if (!capture) {
    join(device, its, stream, found->second.heads);
    return cudaSuccess;
  }
  if (capture != its) {
    its->invalid = true;
    return invalidate(*capture, cudaErrorStreamCaptureMerge);
  }
  add_heads(capture->heads.at(key_of(stream)), found->second.heads);
  return cudaSuccess;
}

cudaError_t Captures::forbid_stream(cudaStream_t stream) {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  if (std::shared_ptr<Capture> capture = capture_of(stream))
    return invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  if (cudaError_t error = check_legacy(stream)) return error;
  return check_unsafe();
}

cudaError_t Captures::forbid_event(cudaEvent_t event) {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  auto found = captures().events.find(event);
  if (found == captures().events.end()) return check_unsafe();
  return invalidate(*found->second.capture, cudaErrorCapturedEvent);
}

cudaError_t Captures::forbid_device() {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  return captures().streams.empty() ? cudaSuccess : invalidate_all(cudaErrorStreamCaptureUnsupported);
}

cudaError_t Captures::forbid_unsafe() {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  return check_unsafe();
}

cudaError_t Captures::forbid_synchronous() {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  cudaError_t error = check_legacy(nullptr);
  return error ? error : check_unsafe();
}

cudaError_t Captures::forbid_capture(cudaStream_t stream) {
  if (!any()) return cudaSuccess;
  CaptureLock lock(captures().mutex);
  if (std::shared_ptr<Capture> capture = capture_of(stream))
    return invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  return check_legacy(stream);
}

void Captures::forget(cudaEvent_t event) {
  if (!any()) return;
  CaptureLock lock(captures().mutex);
  captures().events.erase(event);
  captures().recount();
}

void Captures::forget(cudaStream_t stream) {
  if (!any()) return;
  CaptureLock lock(captures().mutex);
  std::shared_ptr<Capture> capture = capture_of(stream);
  if (!capture) return;
  if (capture->origin == key_of(stream)) {
    capture->invalid = true;
    end_capture(*capture);
    if (capture->owned) delete capture->graph;
  } else {
    add_heads(capture->left, capture->heads.at(key_of(stream)));
    capture->heads.erase(key_of(stream));
    captures().streams.erase(key_of(stream));
    captures().recount();
  }
}

}  // namespace drawloom
