// Graphs: nodes that are operations of a device, the order between them, and executable copies of them. Devices know
// nothing of graphs: a launch gives them the operations one by one, in an order that the graph allows.
#pragma once
#include <list>
#include <mutex>

#include "device.h"

namespace drawloom {

// Memory that a graph's node allocates: it has one address for good, and stands until neither a graph nor the program
// uses it.
struct GraphMemory {
  int device;
  void *address;
  size_t size;
  bool live = false;      // allocated by a launch, and not freed since
  ~GraphMemory();
};

// What one node does. Of the fields those of its type have a meaning.
struct Operation {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  // A kernel: `host` is what the program names it by, `values` its parameters as they lie in its parameter block.
  const void *host = nullptr;
  Function *function = nullptr;
  dim3 grid, block;
  size_t shared = 0;
  bool cooperative = false;
  std::vector<char> values;
  cudaMemcpy3DParms copy = {};
  cudaMemsetParams fill = {};
  cudaHostNodeParams call = {};
  cudaEvent_t event = nullptr;
  std::shared_ptr<CUgraph_st> child;
  std::shared_ptr<GraphMemory> memory;
  void *freed = nullptr;

  static cudaError_t kernel(Operation &out, const void *host, Function *function, dim3 grid, dim3 block,
                            void *const *arguments, size_t shared, bool cooperative);
  static Operation copy_of(const Rows &rows);
  static Operation fill_of(void *to, size_t pitch, int value, size_t width, size_t height);
  // Where each parameter of a kernel stands.
  std::vector<void *> arguments();
};

// Checks what a copy or memset of a node says. Errors are those of the calls outside of graphs.
cudaError_t check(const cudaMemcpy3DParms &copy);
cudaError_t check(const cudaMemsetParams &fill);
// Gives an operation to a stream of the device.
cudaError_t run(Device &device, Operation &operation, cudaStream_t stream);

// Memory of graphs that a call of the program frees: true where that is all there is to do.
bool free_graph_memory(void *memory);
std::shared_ptr<GraphMemory> allocate_graph_memory(Device &device, size_t size, cudaError_t &error);

}  // namespace drawloom

struct CUgraphNode_st {
  CUgraph_st *graph;
  CUgraphNode_st *original;  // in the graph that this one was cloned of; null for none
  drawloom::Operation operation;
  std::vector<CUgraphNode_st *> dependencies;
  std::vector<void *> shown;  // the places of parameters that the program asked for last
};

struct CUgraph_st {
  std::list<CUgraphNode_st> nodes;  // in the order in which they were added

  CUgraphNode_st *add(drawloom::Operation operation, const cudaGraphNode_t *dependencies, size_t count);
  // The nodes in an order in which each comes after those that it depends on; empty where some depend on each other.
  std::vector<CUgraphNode_st *> sorted();
  std::shared_ptr<CUgraph_st> clone() const;
};

struct CUgraphExec_st {
  struct Step {
    CUgraphNode_st *node;  // that it was made of, only to be compared
    size_t place;          // of that node in its graph
    std::vector<size_t> dependencies;
    drawloom::Operation operation;
    std::unique_ptr<CUgraphExec_st> child;
    bool enabled = true;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;

  // Null for a graph whose nodes depend on each other.
  static std::unique_ptr<CUgraphExec_st> of(CUgraph_st &graph);
  cudaError_t launch(drawloom::Device &device, cudaStream_t stream, bool frees);
  Step *find(const CUgraphNode_st *node);
  // A graph that does the same.
  std::shared_ptr<CUgraph_st> graph() const;
};
