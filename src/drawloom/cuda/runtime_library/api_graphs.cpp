// The runtime interface's calls about graphs and captures.
#include <algorithm>
#include <cstring>
#include <set>

#include "api.h"
#include "process.h"

using namespace drawloom;

namespace {

// What the program holds handles of. Never destroyed: static destructors of programs may still call.
struct GraphHandles {
  std::mutex mutex;
  std::set<CUgraph_st *> graphs;
  std::set<CUgraphExec_st *> executables;
};
GraphHandles &graph_handles() {
  static GraphHandles *one = new GraphHandles;
  return *one;
}
typedef std::lock_guard<std::mutex> HandleLock;

CUgraph_st *keep(CUgraph_st *graph) {
  HandleLock lock(graph_handles().mutex);
  graph_handles().graphs.insert(graph);
  return graph;
}

bool is_executable(cudaGraphExec_t executable) {
  HandleLock lock(graph_handles().mutex);
  return graph_handles().executables.count(executable) != 0;
}

bool are_of(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count) {
  if (count && !nodes) return false;
  return std::all_of(nodes, nodes + count, [&](cudaGraphNode_t node) { return node && node->graph == graph; });
}

// Adds a node that does what `make` fills in.
template <class F>
cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                     F make) {
  return on_device([&](Device &d) {
    if (!node || !graph || !are_of(graph, dependencies, count)) return cudaErrorInvalidValue;
    Operation operation;
    if (cudaError_t error = make(d, operation)) return error;
    *node = graph->add(std::move(operation), dependencies, count);
    return cudaSuccess;
  });
}

// An operation of a node, or of an executable graph's copy of it; null where it is of another type.
Operation *operation_of(cudaGraphNode_t node, cudaGraphNodeType type) {
  return node && node->operation.type == type ? &node->operation : nullptr;
}
Operation *operation_of(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type) {
  CUgraphExec_st::Step *step = is_executable(executable) ? executable->find(node) : nullptr;
  return step && step->operation.type == type ? &step->operation : nullptr;
}

// Replaces an operation by what `make` fills in; errors leave it as it was.
template <class F> cudaError_t replace(Operation *operation, F make) {
  return on_device([&](Device &d) {
    if (!operation) return cudaErrorInvalidValue;
    Operation made;
    cudaError_t error = make(d, made);
    if (!error) *operation = std::move(made);
    return error;
  });
}

auto kernel_of(const cudaKernelNodeParams *what) {
  return [=](Device &, Operation &out) {
    if (!what || (what->extra && !what->kernelParams)) return cudaErrorInvalidValue;
    if (cudaError_t error = check_configuration(what->gridDim, what->blockDim)) return error;
    return Operation::kernel(out, what->func, function_of(what->func), what->gridDim, what->blockDim,
                             what->kernelParams, what->sharedMemBytes, false);
  };
}

auto copy_of(const cudaMemcpy3DParms *what) {
  return [=](Device &, Operation &out) {
    if (!what) return cudaErrorInvalidValue;
    out.type = cudaGraphNodeTypeMemcpy;
    out.copy = *what;
    return check(*what);
  };
}

auto copy_of(void *to, const void *from, size_t size, cudaMemcpyKind kind) {
  return [=](Device &, Operation &out) {
    out = Operation::copy_of({to, size, from, size, size, 1, kind});
    return check(out.copy);
  };
}

// A copy whose one side, `to_symbol` says which, is a variable of the device.
auto copy_of_symbol(const void *host, void *to, const void *from, size_t size, size_t offset, cudaMemcpyKind kind,
                    bool to_symbol) {
  return [=](Device &d, Operation &out) {
    Symbol *symbol = symbol_of(host);
    if (!symbol) return cudaErrorInvalidSymbol;
    void *memory = nullptr;
    if (cudaError_t error = d.address(*symbol, &memory)) return error;
    if (offset > symbol->size || size > symbol->size - offset) return cudaErrorInvalidValue;
    char *place = static_cast<char *>(memory) + offset;
    return to_symbol ? copy_of(place, from, size, kind)(d, out) : copy_of(to, place, size, kind)(d, out);
  };
}

auto fill_of(const cudaMemsetParams *what) {
  return [=](Device &, Operation &out) {
    if (!what) return cudaErrorInvalidValue;
    out.type = cudaGraphNodeTypeMemset;
    out.fill = *what;
    return check(*what);
  };
}

auto call_of(const cudaHostNodeParams *what) {
  return [=](Device &, Operation &out) {
    if (!what || !what->fn) return cudaErrorInvalidValue;
    out.type = cudaGraphNodeTypeHost;
    out.call = *what;
    return cudaSuccess;
  };
}

auto event_of(cudaGraphNodeType type, cudaEvent_t event) {
  return [=](Device &, Operation &out) {
    out.type = type;
    out.event = event;
    return event ? cudaSuccess : cudaErrorInvalidValue;
  };
}

// Nodes to the program: as many as there is room for, the rest null; without room only how many there are.
cudaError_t list(const std::vector<CUgraphNode_st *> &found, cudaGraphNode_t *nodes, size_t *count) {
  if (!count) return note(cudaErrorInvalidValue);
  for (size_t i = 0; nodes && i < *count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
  *count = nodes ? std::min(*count, found.size()) : found.size();
  return cudaSuccess;
}

template <class T> cudaError_t tell(Operation *operation, T Operation::*field, T *out) {
  if (!operation || !out) return note(cudaErrorInvalidValue);
  *out = operation->*field;
  return cudaSuccess;
}

const char *name_of(cudaGraphNodeType type) {
  static const char *const kNames[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait", "record"};
  return type < 8 ? kNames[type] : type == cudaGraphNodeTypeMemAlloc ? "alloc" : "free";
}

// What makes a graph another one than an executable was made of; success where nothing does.
cudaGraphExecUpdateResult compare(CUgraphExec_st &executable, CUgraphExec_st *other, cudaGraphNode_t &wrong) {
  wrong = nullptr;
  if (!other || other->steps.size() != executable.steps.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  for (size_t i = 0; i < other->steps.size(); ++i) {
    CUgraphExec_st::Step &mine = executable.steps[i], &theirs = other->steps[i];
    wrong = theirs.node;
    if (mine.place != theirs.place || mine.dependencies != theirs.dependencies)
      return cudaGraphExecUpdateErrorTopologyChanged;
    if (mine.operation.type != theirs.operation.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (mine.operation.type == cudaGraphNodeTypeMemAlloc || mine.operation.type == cudaGraphNodeTypeMemFree)
      return cudaGraphExecUpdateErrorNotSupported;
    if (!mine.child) continue;
    cudaGraphExecUpdateResult inner = compare(*mine.child, theirs.child.get(), wrong);
    if (inner) return inner;
  }
  wrong = nullptr;
  return cudaGraphExecUpdateSuccess;
}

// Takes over what the nodes of another executable of the same shape do; the nodes that name the steps stay.
void take_operations(CUgraphExec_st &executable, CUgraphExec_st &other) {
  for (size_t i = 0; i < other.steps.size(); ++i) {
    executable.steps[i].operation = std::move(other.steps[i].operation);
    if (executable.steps[i].child) take_operations(*executable.steps[i].child, *other.steps[i].child);
  }
}

}  // namespace

extern "C" {

// -- capture

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return on_device([&](Device &d) { return Captures::begin(d, stream, nullptr, nullptr, 0, mode); });
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                          const void *, size_t count, cudaStreamCaptureMode mode) {
  return on_device([&](Device &d) {
    if (!graph || !are_of(graph, dependencies, count)) return cudaErrorInvalidValue;
    return Captures::begin(d, stream, graph, dependencies, count, mode);
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  return on_device([&](Device &) {
    if (!graph) return cudaErrorInvalidValue;
    cudaError_t error = Captures::end(stream, graph);
    if (*graph) keep(*graph);
    return error;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  return cudaStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                                        cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count) {
  return on_device([&](Device &) {
    return status ? Captures::info(stream, status, id, graph, dependencies, count) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
                                                unsigned int flags) {
  if ((count && !dependencies) || flags > cudaStreamSetCaptureDependencies) return note(cudaErrorInvalidValue);
  return note(Captures::update(stream, dependencies, count, flags == cudaStreamSetCaptureDependencies));
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
  if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
    return note(cudaErrorInvalidValue);
  Captures::exchange(*mode);
  return cudaSuccess;
}

// -- graphs

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) {
  return on_device([&](Device &) {
    if (!graph || flags) return cudaErrorInvalidValue;
    *graph = keep(Captures::graph());
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  {
    HandleLock lock(graph_handles().mutex);
    if (!graph_handles().graphs.erase(graph)) return note(cudaErrorInvalidValue);
  }
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
  if (!clone || !graph) return note(cudaErrorInvalidValue);
  *clone = keep(new CUgraph_st);
  std::shared_ptr<CUgraph_st> made = graph->clone();
  (*clone)->nodes.swap(made->nodes);
  for (CUgraphNode_st &node : (*clone)->nodes) node.graph = *clone;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone) {
  if (!node || !original || !clone) return note(cudaErrorInvalidValue);
  for (CUgraphNode_st &one : clone->nodes) {
    if (one.original != original) continue;
    *node = &one;
    return cudaSuccess;
  }
  return note(cudaErrorInvalidValue);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const cudaKernelNodeParams *what) {
  return add_node(node, graph, dependencies, count, kernel_of(what));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const cudaMemcpy3DParms *what) {
  return add_node(node, graph, dependencies, count, copy_of(what));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                     size_t count, void *to, const void *from, size_t size, cudaMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, copy_of(to, from, size, kind));
}
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *dependencies, size_t count, const void *symbol,
                                           const void *from, size_t size, size_t offset, cudaMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, copy_of_symbol(symbol, nullptr, from, size, offset, kind, true));
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                             const cudaGraphNode_t *dependencies, size_t count, void *to,
                                             const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, copy_of_symbol(symbol, to, nullptr, size, offset, kind, false));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const cudaMemsetParams *what) {
  return add_node(node, graph, dependencies, count, fill_of(what));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 size_t count, const cudaHostNodeParams *what) {
  return add_node(node, graph, dependencies, count, call_of(what));
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count) {
  return add_node(node, graph, dependencies, count, [](Device &, Operation &) { return cudaSuccess; });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                       size_t count, cudaGraph_t child) {
  return add_node(node, graph, dependencies, count, [&](Device &, Operation &out) {
    if (!child || child == graph) return cudaErrorInvalidValue;
    out.type = cudaGraphNodeTypeGraph;
    out.child = child->clone();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                        size_t count, cudaEvent_t event) {
  return add_node(node, graph, dependencies, count, event_of(cudaGraphNodeTypeEventRecord, event));
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                      size_t count, cudaEvent_t event) {
  return add_node(node, graph, dependencies, count, event_of(cudaGraphNodeTypeWaitEvent, event));
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                     size_t count, cudaMemAllocNodeParams *what) {
  return add_node(node, graph, dependencies, count, [&](Device &d, Operation &out) {
    if (!what) return cudaErrorInvalidValue;
    cudaError_t error;
    out.type = cudaGraphNodeTypeMemAlloc;
    out.memory = allocate_graph_memory(d, what->bytesize, error);
    if (!error) what->dptr = out.memory->address;
    return error;
  });
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                    size_t count, void *memory) {
  return add_node(node, graph, dependencies, count, [&](Device &, Operation &out) {
    out.type = cudaGraphNodeTypeMemFree;
    out.freed = memory;
    return memory ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaDeviceGraphMemTrim(int index) {
  return note(index >= 0 && index < device_count() ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) {
  if (!graph || !are_of(graph, from, count) || !are_of(graph, to, count)) return note(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    std::vector<CUgraphNode_st *> &all = to[i]->dependencies;
    if (from[i] == to[i] || std::find(all.begin(), all.end(), from[i]) != all.end()) return note(cudaErrorInvalidValue);
    all.push_back(from[i]);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        size_t count) {
  if (!graph || !are_of(graph, from, count) || !are_of(graph, to, count)) return note(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    std::vector<CUgraphNode_st *> &all = to[i]->dependencies;
    auto found = std::find(all.begin(), all.end(), from[i]);
    if (found == all.end()) return note(cudaErrorInvalidValue);
    all.erase(found);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  if (!node) return note(cudaErrorInvalidValue);
  std::list<CUgraphNode_st> &nodes = node->graph->nodes;
  for (CUgraphNode_st &one : nodes) {
    auto found = std::find(one.dependencies.begin(), one.dependencies.end(), node);
    if (found != one.dependencies.end()) one.dependencies.erase(found);
  }
  nodes.remove_if([&](const CUgraphNode_st &one) { return &one == node; });
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  if (!graph) return note(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st *> all;
  for (CUgraphNode_st &node : graph->nodes) all.push_back(&node);
  return list(all, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  if (!graph) return note(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st *> all;
  for (CUgraphNode_st &node : graph->nodes)
    if (node.dependencies.empty()) all.push_back(&node);
  return list(all, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
  if (!graph || !count || !from != !to) return note(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st *> first, second;
  for (CUgraphNode_st &node : graph->nodes) {
    for (CUgraphNode_st *before : node.dependencies) {
      first.push_back(before);
      second.push_back(&node);
    }
  }
  size_t room = *count;
  list(first, from, &room);
  return list(second, to, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies, size_t *count) {
  return node ? list(node->dependencies, dependencies, count) : note(cudaErrorInvalidValue);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents, size_t *count) {
  if (!node) return note(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st *> all;
  for (CUgraphNode_st &one : node->graph->nodes)
    if (std::find(one.dependencies.begin(), one.dependencies.end(), node) != one.dependencies.end())
      all.push_back(&one);
  return list(all, dependents, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type) {
  return tell(node ? &node->operation : nullptr, &Operation::type, type);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *what) {
  Operation *operation = operation_of(node, cudaGraphNodeTypeKernel);
  if (!operation || !what) return note(cudaErrorInvalidValue);
  node->shown = operation->arguments();
  *what = {const_cast<void *>(operation->host), operation->grid, operation->block, unsigned(operation->shared),
           node->shown.data(), nullptr};
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *what) {
  return replace(operation_of(node, cudaGraphNodeTypeKernel), kernel_of(what));
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *what) {
  return tell(operation_of(node, cudaGraphNodeTypeMemcpy), &Operation::copy, what);
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *what) {
  return replace(operation_of(node, cudaGraphNodeTypeMemcpy), copy_of(what));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
                                           cudaMemcpyKind kind) {
  return replace(operation_of(node, cudaGraphNodeTypeMemcpy), copy_of(to, from, size, kind));
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *what) {
  return tell(operation_of(node, cudaGraphNodeTypeMemset), &Operation::fill, what);
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *what) {
  return replace(operation_of(node, cudaGraphNodeTypeMemset), fill_of(what));
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *what) {
  return tell(operation_of(node, cudaGraphNodeTypeHost), &Operation::call, what);
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *what) {
  return replace(operation_of(node, cudaGraphNodeTypeHost), call_of(what));
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
  Operation *operation = operation_of(node, cudaGraphNodeTypeGraph);
  if (!operation || !graph) return note(cudaErrorInvalidValue);
  *graph = operation->child.get();
  return cudaSuccess;
}
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  return tell(operation_of(node, cudaGraphNodeTypeEventRecord), &Operation::event, event);
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  constexpr cudaGraphNodeType type = cudaGraphNodeTypeEventRecord;
  return replace(operation_of(node, type), event_of(type, event));
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  return tell(operation_of(node, cudaGraphNodeTypeWaitEvent), &Operation::event, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  constexpr cudaGraphNodeType type = cudaGraphNodeTypeWaitEvent;
  return replace(operation_of(node, type), event_of(type, event));
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams *what) {
  Operation *operation = operation_of(node, cudaGraphNodeTypeMemAlloc);
  if (!operation || !what) return note(cudaErrorInvalidValue);
  *what = {};
  what->bytesize = operation->memory->size;
  what->dptr = operation->memory->address;
  return cudaSuccess;
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *memory) {
  return tell(operation_of(node, cudaGraphNodeTypeMemFree), &Operation::freed, static_cast<void **>(memory));
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int) {
  FILE *file = graph && path ? fopen(path, "w") : nullptr;
  if (!file) return note(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st *> all;
  for (CUgraphNode_st &node : graph->nodes) all.push_back(&node);
  fprintf(file, "digraph graph_of_nodes {\n");
  for (size_t i = 0; i < all.size(); ++i) {
    const Operation &operation = all[i]->operation;
    fprintf(file, "  n%zu [label=\"%zu %s%s%s\"];\n", i, i, name_of(operation.type), operation.function ? " " : "",
            operation.function ? operation.function->name.c_str() : "");
    for (CUgraphNode_st *before : all[i]->dependencies)
      fprintf(file, "  n%zu -> n%zu;\n", size_t(std::find(all.begin(), all.end(), before) - all.begin()), i);
  }
  fprintf(file, "}\n");
  bool written = !ferror(file);
  written = fclose(file) == 0 && written;
  return note(written ? cudaSuccess : cudaErrorOperatingSystem);
}

// -- executable graphs

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags) {
  return on_device([&](Device &) {
    if (!executable || !graph) return cudaErrorInvalidValue;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) return cudaErrorNotSupported;
    std::unique_ptr<CUgraphExec_st> made = CUgraphExec_st::of(*graph);
    if (!made) return cudaErrorInvalidValue;
    made->flags = flags;
    HandleLock lock(graph_handles().mutex);
    graph_handles().executables.insert(*executable = made.release());
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *what) {
  if (!what) return note(cudaErrorInvalidValue);
  cudaError_t error = cudaGraphInstantiateWithFlags(executable, graph, what->flags);
  what->errNode_out = nullptr;
  what->result_out = !error                           ? cudaGraphInstantiateSuccess
                     : error == cudaErrorInvalidValue ? cudaGraphInstantiateInvalidStructure
                                                      : cudaGraphInstantiateError;
  return error;
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long *flags) {
  if (!is_executable(executable) || !flags) return note(cudaErrorInvalidValue);
  *flags = executable->flags;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  {
    HandleLock lock(graph_handles().mutex);
    if (!graph_handles().executables.erase(executable)) return note(cudaErrorInvalidValue);
  }
  delete executable;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  return on_device([&](Device &) { return is_executable(executable) ? cudaSuccess : cudaErrorInvalidValue; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return on_device([&](Device &d) {
    if (!is_executable(executable)) return cudaErrorInvalidValue;
    bool frees = executable->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
    return give_or_capture(stream, [&] { return executable->launch(d, stream, frees); }, [&](Operation &out) {
      out.type = cudaGraphNodeTypeGraph;
      out.child = executable->graph();
      return cudaSuccess;
    });
  });
}
cudaError_t __dl_update_executable(cudaGraphExec_t executable, cudaGraph_t graph,
                                   cudaGraphExecUpdateResultInfo *result) {
  return on_device([&](Device &) {
    if (!is_executable(executable) || !graph) return cudaErrorInvalidValue;
    std::unique_ptr<CUgraphExec_st> other = CUgraphExec_st::of(*graph);
    cudaGraphNode_t wrong;
    cudaGraphExecUpdateResult found = compare(*executable, other.get(), wrong);
    if (result) *result = {found, wrong, nullptr};
    if (found) return cudaErrorGraphExecUpdateFailure;
    take_operations(*executable, *other);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *what) {
  return replace(operation_of(executable, node, cudaGraphNodeTypeKernel), kernel_of(what));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms *what) {
  return replace(operation_of(executable, node, cudaGraphNodeTypeMemcpy), copy_of(what));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                               const void *from, size_t size, cudaMemcpyKind kind) {
  return replace(operation_of(executable, node, cudaGraphNodeTypeMemcpy), copy_of(to, from, size, kind));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams *what) {
  return replace(operation_of(executable, node, cudaGraphNodeTypeMemset), fill_of(what));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams *what) {
  return replace(operation_of(executable, node, cudaGraphNodeTypeHost), call_of(what));
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) {
  return on_device([&](Device &) {
    CUgraphExec_st::Step *step = is_executable(executable) ? executable->find(node) : nullptr;
    if (!step || !step->child || !child) return cudaErrorInvalidValue;
    std::unique_ptr<CUgraphExec_st> other = CUgraphExec_st::of(*child);
    cudaGraphNode_t wrong;
    if (compare(*step->child, other.get(), wrong)) return cudaErrorInvalidValue;
    take_operations(*step->child, *other);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event) {
  constexpr cudaGraphNodeType type = cudaGraphNodeTypeEventRecord;
  return replace(operation_of(executable, node, type), event_of(type, event));
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event) {
  constexpr cudaGraphNodeType type = cudaGraphNodeTypeWaitEvent;
  return replace(operation_of(executable, node, type), event_of(type, event));
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled) {
  CUgraphExec_st::Step *step = is_executable(executable) ? executable->find(node) : nullptr;
  if (!step || step->operation.type > cudaGraphNodeTypeMemset) return note(cudaErrorInvalidValue);
  step->enabled = enabled != 0;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int *enabled) {
  CUgraphExec_st::Step *step = is_executable(executable) ? executable->find(node) : nullptr;
  if (!step || !enabled || step->operation.type > cudaGraphNodeTypeMemset) return note(cudaErrorInvalidValue);
  *enabled = step->enabled;
  return cudaSuccess;
}
}
