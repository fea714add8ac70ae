// From nodes to operations of a device.
#include "graphs.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "process.h"
#include "registry.h"

namespace drawloom {
namespace {

// Memory of nodes by its address; null where only the program uses it any more. Never destroyed.
struct GraphMemories {
  std::mutex mutex;
  std::map<void *, GraphMemory *> all;
  std::atomic<size_t> count{0};
};
GraphMemories &graph_memories() {
  static GraphMemories *one = new GraphMemories;
  return *one;
}

char *place_in(const cudaPitchedPtr &memory, const cudaPos &position, size_t z) {
  return static_cast<char *>(memory.ptr) + ((position.z + z) * memory.ysize + position.y) * memory.pitch + position.x;
}

cudaError_t run_copy(Device &device, const cudaMemcpy3DParms &what, cudaStream_t stream) {
  for (size_t z = 0; z < what.extent.depth; ++z) {
    Rows rows{place_in(what.dstPtr, what.dstPos, z), what.dstPtr.pitch, place_in(what.srcPtr, what.srcPos, z), what.srcPtr.pitch,
              what.extent.width, what.extent.height, what.kind};
    if (!rows.width || !rows.height) continue;
    if (cudaError_t error = device.copy(rows, stream, true)) return error;
  }
  return cudaSuccess;
}

// Devices set bytes. A value of several that differ is copied from the host, which has a row of it.
cudaError_t run_fill(Device &device, const cudaMemsetParams &what, cudaStream_t stream) {
  size_t bytes = what.width * what.elementSize;
  size_t pitch = what.height > 1 ? what.pitch : bytes;
  if (!bytes || !what.height) return cudaSuccess;
  unsigned char value[4];
  memcpy(value, &what.value, sizeof value);
  if (std::all_of(value, value + what.elementSize, [&](unsigned char b) { return b == value[0]; }))
    return device.fill(what.dst, pitch, value[0], bytes, what.height, stream, true);
  std::vector<char> row(bytes);
  for (size_t i = 0; i < bytes; ++i) row[i] = char(value[i % what.elementSize]);
  for (size_t y = 0; y < what.height; ++y) {
    Rows one{static_cast<char *>(what.dst) + y * pitch, bytes, row.data(), bytes, bytes, 1, cudaMemcpyHostToDevice};
    if (cudaError_t error = device.copy(one, stream, true)) return error;
  }
  return device.synchronize(stream);  // the row ends here
}

}  // namespace

GraphMemory::~GraphMemory() {
  std::unique_lock<std::mutex> lock(graph_memories().mutex);
  if (live) {
    graph_memories().all[address] = nullptr;
    return;
  }
  graph_memories().all.erase(address);
  graph_memories().count = graph_memories().all.size();
  lock.unlock();
  int before = current_device();
  current_device() = device;
  cudaError_t error;
  if (Device *mine = drawloom::device(error)) mine->release(address, false);
  current_device() = before;
}

std::shared_ptr<GraphMemory> allocate_graph_memory(Device &device, size_t size, cudaError_t &error) {
  void *memory = nullptr;
  error = size ? device.allocate(&memory, size, Memory::device) : cudaErrorInvalidValue;
  if (error) return nullptr;
  std::shared_ptr<GraphMemory> made(new GraphMemory{current_device(), memory, size});
  std::lock_guard<std::mutex> lock(graph_memories().mutex);
  graph_memories().all[memory] = made.get();
  graph_memories().count = graph_memories().all.size();
  return made;
}

bool free_graph_memory(void *memory) {
  if (!graph_memories().count) return false;
  std::lock_guard<std::mutex> lock(graph_memories().mutex);
  auto found = graph_memories().all.find(memory);
  if (found == graph_memories().all.end()) return false;
  GraphMemory *owned = found->second;
  if (owned) {
    owned->live = false;
    return true;
  }
  graph_memories().all.erase(found);
  graph_memories().count = graph_memories().all.size();
  return false;
}

cudaError_t Operation::kernel(Operation &out, const void *host, Function *function, dim3 grid, dim3 block,
                              void *const *arguments, size_t shared, bool cooperative) {
  const Kernel *kernel = function ? layout_of(*function) : nullptr;
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (kernel->parameter_count && !arguments) return cudaErrorInvalidValue;
  out = Operation{};
  out.type = cudaGraphNodeTypeKernel;
  out.host = host;
  out.function = function;
  out.grid = grid;
  out.block = block;
  out.shared = shared;
  out.cooperative = cooperative;
  out.values.resize(size_t(kernel->parameter_bytes));
  const int64_t *places = static_cast<const int64_t *>(kernel->parameters);
  for (int64_t i = 0; i < kernel->parameter_count; ++i)
    memcpy(&out.values[size_t(places[2 * i])], arguments[i], size_t(places[2 * i + 1]));
  return cudaSuccess;
}

std::vector<void *> Operation::arguments() {
  const Kernel *kernel = layout_of(*function);
  const int64_t *places = static_cast<const int64_t *>(kernel->parameters);
  std::vector<void *> all;
  for (int64_t i = 0; i < kernel->parameter_count; ++i) all.push_back(&values[size_t(places[2 * i])]);
  return all;
}

Operation Operation::copy_of(const Rows &rows) {
  Operation out;
  out.type = cudaGraphNodeTypeMemcpy;
  out.copy.dstPtr = {rows.to, rows.to_pitch, rows.width, rows.height};
  out.copy.srcPtr = {const_cast<void *>(rows.from), rows.from_pitch, rows.width, rows.height};
  out.copy.extent = {rows.width, rows.height, 1};
  out.copy.kind = rows.kind;
  return out;
}

Operation Operation::fill_of(void *to, size_t pitch, int value, size_t width, size_t height) {
  Operation out;
  out.type = cudaGraphNodeTypeMemset;
  out.fill = {to, pitch, unsigned(value) & 0xff, 1, width, height};
  return out;
}

cudaError_t check(const cudaMemcpy3DParms &copy) {
  if (copy.srcArray || copy.dstArray) return cudaErrorNotSupported;
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const cudaExtent &extent = copy.extent;
  if (!extent.width || !extent.height || !extent.depth) return cudaSuccess;
  if (!copy.srcPtr.ptr || !copy.dstPtr.ptr) return cudaErrorInvalidValue;
  bool fits = extent.width <= copy.srcPtr.pitch && extent.width <= copy.dstPtr.pitch;
  return fits || (extent.height == 1 && extent.depth == 1) ? cudaSuccess : cudaErrorInvalidPitchValue;
}

cudaError_t check(const cudaMemsetParams &fill) {
  if (!fill.dst || (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4))
    return cudaErrorInvalidValue;
  return fill.height <= 1 || fill.pitch >= fill.width * fill.elementSize ? cudaSuccess : cudaErrorInvalidPitchValue;
}

cudaError_t run(Device &device, Operation &operation, cudaStream_t stream) {
  switch (operation.type) {
    case cudaGraphNodeTypeKernel: {
      std::vector<void *> arguments = operation.arguments();
      return device.launch({operation.function, operation.grid, operation.block, arguments.data(), operation.shared,
                            stream, operation.cooperative});
    }
    case cudaGraphNodeTypeMemcpy: return run_copy(device, operation.copy, stream);
    case cudaGraphNodeTypeMemset: return run_fill(device, operation.fill, stream);
    case cudaGraphNodeTypeHost: return device.call(stream, operation.call.fn, operation.call.userData);
    case cudaGraphNodeTypeEventRecord: return device.record(operation.event, stream);
    case cudaGraphNodeTypeWaitEvent: return device.wait(stream, operation.event);
    case cudaGraphNodeTypeMemAlloc:
      if (operation.memory->live) return cudaErrorInvalidValue;  // the last launch's was not freed
      operation.memory->live = true;
      return cudaSuccess;
    case cudaGraphNodeTypeMemFree:
      if (free_graph_memory(operation.freed)) return cudaSuccess;
      if (cudaError_t error = device.synchronize(stream)) return error;
      return device.release(operation.freed, false);
    default: return cudaSuccess;
  }
}

}  // namespace drawloom

CUgraphNode_st *CUgraph_st::add(drawloom::Operation operation, const cudaGraphNode_t *dependencies, size_t count) {
  nodes.push_back({this, nullptr, std::move(operation), {}, {}});
  CUgraphNode_st *made = &nodes.back();
  for (size_t i = 0; i < count; ++i)
    if (std::find(made->dependencies.begin(), made->dependencies.end(), dependencies[i]) == made->dependencies.end())
      made->dependencies.push_back(dependencies[i]);
  return made;
}

std::vector<CUgraphNode_st *> CUgraph_st::sorted() {
  std::map<CUgraphNode_st *, size_t> missing;
  std::map<CUgraphNode_st *, std::vector<CUgraphNode_st *>> dependents;
  std::vector<CUgraphNode_st *> out;
  for (CUgraphNode_st &node : nodes) {
    missing[&node] = node.dependencies.size();
    for (CUgraphNode_st *before : node.dependencies) dependents[before].push_back(&node);
    if (node.dependencies.empty()) out.push_back(&node);
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (CUgraphNode_st *after : dependents[out[i]])
      if (--missing[after] == 0) out.push_back(after);
  if (out.size() < nodes.size()) out.clear();
  return out;
}

std::shared_ptr<CUgraph_st> CUgraph_st::clone() const {
  auto made = std::make_shared<CUgraph_st>();
  std::map<const CUgraphNode_st *, CUgraphNode_st *> known;
  for (const CUgraphNode_st &node : nodes) {
    CUgraphNode_st *copy = made->add(node.operation, nullptr, 0);
    copy->original = const_cast<CUgraphNode_st *>(&node);
    if (node.operation.child) copy->operation.child = node.operation.child->clone();
    known[&node] = copy;
  }
  for (const CUgraphNode_st &node : nodes)
    for (const CUgraphNode_st *before : node.dependencies) known[&node]->dependencies.push_back(known[before]);
  return made;
}

std::unique_ptr<CUgraphExec_st> CUgraphExec_st::of(CUgraph_st &graph) {
  std::vector<CUgraphNode_st *> order = graph.sorted();
  if (order.size() < graph.nodes.size()) return nullptr;
  std::map<CUgraphNode_st *, size_t> places;
  for (CUgraphNode_st &node : graph.nodes) places.insert({&node, places.size()});
  std::unique_ptr<CUgraphExec_st> made(new CUgraphExec_st);
  for (CUgraphNode_st *node : order) {
    made->steps.push_back({node, places[node], {}, node->operation, nullptr, true});
    Step &step = made->steps.back();
    for (CUgraphNode_st *before : node->dependencies) step.dependencies.push_back(places[before]);
    std::sort(step.dependencies.begin(), step.dependencies.end());
    if (!node->operation.child) continue;
    step.child = of(*node->operation.child);
    if (!step.child) return nullptr;
  }
  return made;
}

cudaError_t CUgraphExec_st::launch(drawloom::Device &device, cudaStream_t stream, bool frees) {
  for (Step &step : steps) {
    if (!step.enabled) continue;
    if (frees && step.operation.memory) step.operation.memory->live = false;
    cudaError_t error = step.child ? step.child->launch(device, stream, frees) : run(device, step.operation, stream);
    if (error) return error;
  }
  return cudaSuccess;
}

CUgraphExec_st::Step *CUgraphExec_st::find(const CUgraphNode_st *node) {
  for (Step &step : steps) {
    if (step.node == node) return &step;
    Step *found = step.child ? step.child->find(node) : nullptr;
    if (found) return found;
  }
  return nullptr;
}

std::shared_ptr<CUgraph_st> CUgraphExec_st::graph() const {
  auto made = std::make_shared<CUgraph_st>();
  CUgraphNode_st *last = nullptr;
  for (const Step &step : steps) {
    if (!step.enabled) continue;
    last = made->add(step.operation, &last, last ? 1 : 0);
    if (step.child) last->operation.child = step.child->graph();
  }
  return made;
}
