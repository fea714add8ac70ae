// prints: graphs: 0 of 22 wrong
// Graphs by hand and by capture: forks through events, child graphs, updates, memory nodes, clones, launches.
#include "check.h"
#include <vector>

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }
__global__ void twice(int *data) { data[threadIdx.x] *= 2; }
__device__ int variable;

static int read(const int *memory) {
  int value;
  to_host(&value, memory, 1);
  return value;
}
static void count(void *data) { ++*static_cast<int *>(data); }

int main() {
  int wrong = 0, calls = 0, *a = on_device<int>(nullptr, 32), *b = on_device<int>(nullptr, 32);
  cudaStream_t first, second;
  cudaEvent_t forked, joined;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&forked));
  CHECK(cudaEventCreate(&joined));

  // Captured over two streams; nothing is done before the launches, and each does all.
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaMemset(a, 0xff, 128));
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(first, &status));
  wrong += status != cudaStreamCaptureStatusActive;
  CHECK(cudaMemsetAsync(a, 0, 128, first));
  CHECK(cudaEventRecord(forked, first));
  CHECK(cudaStreamWaitEvent(second, forked, 0));
  CHECK(cudaStreamGetCaptureInfo(second, &status));
  wrong += status != cudaStreamCaptureStatusActive;
  CHECK(cudaMemsetAsync(b, 1, 128, second));
  add<<<1, 32, 0, first>>>(a, 5);
  CHECK(cudaEventRecord(joined, second));
  CHECK(cudaStreamWaitEvent(first, joined, 0));
  CHECK(cudaMemcpyAsync(b + 1, a + 1, 4, cudaMemcpyDeviceToDevice, first));
  CHECK(cudaLaunchHostFunc(first, count, &calls));
  CHECK(cudaStreamEndCapture(first, &graph));
  wrong += read(a) != -1 || calls != 0;
  size_t nodes = 0, edges = 0, roots = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  wrong += nodes != 5 || roots != 1;
  CHECK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, first));
  CHECK(cudaStreamSynchronize(first));
  wrong += read(a) != 5 || read(b) != 0x01010101 || read(b + 1) != 5 || calls != 3;

  // An update by a capture of the same shape, and one of another.
  cudaGraph_t other;
  CHECK(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed));
  add<<<1, 32, 0, second>>>(a, 1);
  CHECK(cudaStreamEndCapture(second, &other));
  cudaGraphExecUpdateResult result;
  wrong += cudaGraphExecUpdate(executable, other, nullptr, &result) != cudaErrorGraphExecUpdateFailure;
  wrong += result != cudaGraphExecUpdateErrorTopologyChanged || cudaGetLastError() != cudaErrorGraphExecUpdateFailure;
  cudaGraphExec_t adds;
  CHECK(cudaGraphInstantiate(&adds, other));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaStreamBeginCapture(second, cudaStreamCaptureModeThreadLocal));
  twice<<<1, 32, 0, second>>>(a);
  CHECK(cudaStreamEndCapture(second, &other));
  CHECK(cudaGraphLaunch(adds, second));
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(adds, other, &info));
  CHECK(cudaGraphLaunch(adds, second));
  CHECK(cudaStreamSynchronize(second));
  wrong += info.result != cudaGraphExecUpdateSuccess || read(a) != 12;

  // By hand, with a child, a symbol, words of four bytes and a host function; then with other parameters.
  cudaGraph_t made, clone;
  CHECK(cudaGraphCreate(&made, 0));
  cudaGraphNode_t set, kernel, child, call, copy, empty;
  cudaMemsetParams words = {a, 0, 7, 4, 32, 1};
  CHECK(cudaGraphAddMemsetNode(&set, made, nullptr, 0, &words));
  int value = 3;
  void *arguments[] = {&a, &value};
  cudaKernelNodeParams launch = {(void *)add, dim3(1), dim3(32), 0, arguments, nullptr}, shown;
  CHECK(cudaGraphAddKernelNode(&kernel, made, &set, 1, &launch));
  value = 100;  // parameters are those of the time when the node was added
  CHECK(cudaGraphAddChildGraphNode(&child, made, &kernel, 1, other));
  cudaHostNodeParams host = {count, &calls};
  CHECK(cudaGraphAddHostNode(&call, made, nullptr, 0, &host));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&copy, made, nullptr, 0, variable, a, 4, 0, cudaMemcpyDeviceToDevice));
  CHECK(cudaGraphAddEmptyNode(&empty, made, nullptr, 0));
  cudaGraphNode_t from[] = {child, copy}, to[] = {copy, empty};
  CHECK(cudaGraphAddDependencies(made, from, to, 2));
  CHECK(cudaGraphGetEdges(made, nullptr, nullptr, &edges));
  wrong += edges != 4;
  CHECK(cudaGraphKernelNodeGetParams(kernel, &shown));
  wrong += shown.func != (void *)add || *static_cast<int *>(shown.kernelParams[1]) != 3;
  CHECK(cudaGraphClone(&clone, made));
  cudaGraphExec_t by_hand, cloned;
  CHECK(cudaGraphInstantiateWithFlags(&by_hand, made, 0));
  CHECK(cudaGraphUpload(by_hand, first));
  CHECK(cudaGraphLaunch(by_hand, first));
  CHECK(cudaStreamSynchronize(first));
  int got;
  CHECK(cudaMemcpyFromSymbol(&got, variable, 4));
  wrong += got != 20 || calls != 4;
  CHECK(cudaGraphExecKernelNodeSetParams(by_hand, kernel, &launch));
  CHECK(cudaGraphLaunch(by_hand, nullptr));
  CHECK(cudaDeviceSynchronize());
  wrong += read(a) != 214 || calls != 5;
  cudaGraphNode_t its;
  CHECK(cudaGraphNodeFindInClone(&its, set, clone));
  words.value = 0x102;
  CHECK(cudaGraphMemsetNodeSetParams(its, &words));
  CHECK(cudaGraphInstantiate(&cloned, clone, 0));
  CHECK(cudaGraphNodeSetEnabled(cloned, its, 0));
  CHECK(cudaGraphLaunch(cloned, first));
  CHECK(cudaStreamSynchronize(first));
  wrong += read(a) != (214 + 3) * 2;
  CHECK(cudaGraphNodeSetEnabled(cloned, its, 1));
  CHECK(cudaGraphLaunch(cloned, first));
  CHECK(cudaStreamSynchronize(first));
  wrong += read(a) != (0x102 + 3) * 2;

  // A loop of dependencies is no graph that can be run.
  cudaGraphNode_t last[] = {empty}, begin[] = {set};
  CHECK(cudaGraphAddDependencies(made, last, begin, 1));
  cudaGraphExec_t none;
  wrong += cudaGraphInstantiate(&none, made, 0) != cudaErrorInvalidValue;

  // A launch that is captured is a child; memory that a capture allocates is freed by it.
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  int *inside;
  cudaStream_t brief;  // joins the capture, comes back, and is destroyed before the capture ends
  CHECK(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
  CHECK(cudaMallocAsync(&inside, 128, first));
  CHECK(cudaEventRecord(forked, first));
  CHECK(cudaStreamWaitEvent(brief, forked, 0));
  CHECK(cudaMemsetAsync(inside, 0, 128, brief));
  CHECK(cudaEventRecord(joined, brief));
  CHECK(cudaStreamWaitEvent(first, joined, 0));
  CHECK(cudaStreamDestroy(brief));
  add<<<1, 32, 0, first>>>(inside, 9);
  CHECK(cudaGraphLaunch(adds, first));
  CHECK(cudaMemcpyAsync(a, inside, 128, cudaMemcpyDeviceToDevice, first));
  CHECK(cudaFreeAsync(inside, first));
  cudaGraph_t memory;
  cudaGraphExec_t frees;
  CHECK(cudaStreamEndCapture(first, &memory));
  std::vector<cudaGraphNode_t> all(6);
  CHECK(cudaGraphGetNodes(memory, all.data(), &(nodes = 6)));
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(all[3], &type));
  wrong += nodes != 6 || type != cudaGraphNodeTypeGraph;
  CHECK(cudaGraphNodeGetType(all[5], &type));
  wrong += type != cudaGraphNodeTypeMemFree;
  CHECK(cudaGraphInstantiate(&frees, memory, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(frees, first));
  CHECK(cudaStreamSynchronize(first));
  wrong += read(a) != 9;

  for (cudaGraph_t one : {graph, other, made, clone, memory}) CHECK(cudaGraphDestroy(one));
  for (cudaGraphExec_t one : {executable, adds, by_hand, cloned, frees}) CHECK(cudaGraphExecDestroy(one));
  wrong += cudaGraphDestroy(graph) != cudaErrorInvalidValue;
  wrong += cudaGraphLaunch(executable, first) != cudaErrorInvalidValue;
  return report("graphs", wrong, 22);
}
