// Rows of different lengths, lists, and a sieve.
#include "harness.h"

namespace bfs {
#include "bfs.cu"
}
namespace pagerank {
#include "pagerank.cu"
}
namespace spmv_warp {
#include "spmv_warp.cu"
}
namespace primes {
#include "primes.cu"
}
namespace linked_list {
#include "linked_list.cu"
}

static void search(int n, const int *begin, const int *edges, int *level, int *frontier, int *next, int *size) {
  CHECK(cudaMemset(level, -1, n * sizeof(int)));
  CHECK(cudaMemset(level, 0, sizeof(int)));
  CHECK(cudaMemset(frontier, 0, sizeof(int)));
  *size = 1;
  for (int depth = 1, now = 1; now; ++depth) {
    CHECK(cudaMemset(size, 0, sizeof(int)));
    bfs::expand<<<groups(now, 64), 64>>>(begin, edges, level, frontier, now, next, size, depth);
    to_host(&now, size, 1);
    std::swap(frontier, next);
  }
}

// Where the rows of a sparse matrix begin, with `count(r)` entries in row r.
template <class F> static int *row_begins(int n, F count) {
  int *begin = managed<int>(n + 1);
  for (int r = 0; r < n; ++r) begin[r + 1] = begin[r] + count(r);
  return begin;
}

static void sparse(int rounds) {
  const int n = 1 << 17;
  int *begin = row_begins(n, [](int) { return 8; });
  int *edges = filled<int>(begin[n], [](unsigned e) { return mixed(e) % n; });
  int *frontier = managed<int>(n), *next = managed<int>(n), *size = managed<int>(1);
  compare<int>(rounds, {"bfs", n, [=](int *level) { search(n, begin, edges, level, frontier, next, size); },
                        [=](int *level) { loops::breadth_first(n, begin, edges, level, frontier, next); }});
  for (int *memory : {begin, edges, frontier, next, size}) CHECK(cudaFree(memory));

  begin = row_begins(n, [](int v) { return 1 + mixed(v) % 6; });
  int *from = filled<int>(begin[n], [](unsigned e) { return mixed(e * 31) % n; }), *degree = managed<int>(n);
  for (int e = 0; e < begin[n]; ++e) ++degree[from[e]];
  double *ranks = filled<double>(n, [](unsigned i) { return (mixed(i) % 100 + 1.0) / n; });
  compare<double>(rounds, {"pagerank", n,
                           [=](double *out) {
                             pagerank::rank_step<<<groups(n, 96), 96>>>(begin, from, ranks, out, degree, n);
                           },
                           [=](double *out) { loops::rank_step(n, begin, from, ranks, out, degree); }});
  for (void *memory : {(void *)begin, (void *)from, (void *)degree, (void *)ranks}) CHECK(cudaFree(memory));

  const int rows = 1 << 15;
  begin = row_begins(rows, [](int r) { return mixed(r + 5) % 90; });
  int *columns = filled<int>(begin[rows], [](unsigned e) { return mixed(e) % rows; });
  // Integers, so that every order of the sums gives the same.
  float *values = filled<float>(begin[rows], [](unsigned e) { return int(mixed(e + 1) % 17) - 8; });
  float *x = filled<float>(rows, [](unsigned i) { return int(mixed(i) % 9) - 4; });
  compare<float>(rounds, {"spmv_warp", rows,
                          [=](float *y) {
                            spmv_warp::multiply<<<rows / 4, 128>>>(begin, columns, values, x, y, rows);
                          },
                          [=](float *y) { loops::multiply(rows, begin, columns, values, x, y); }});
  for (void *memory : {(void *)begin, (void *)columns, (void *)values, (void *)x}) CHECK(cudaFree(memory));
}

void graphs(int rounds) {
  sparse(rounds);
  const int n = 100000, length = 100000;
  unsigned char *composite = managed<unsigned char>(n);
  compare<int>(rounds, {"primes", 1,
                        [=](int *count) {
                          CHECK(cudaMemsetAsync(composite, 0, n));
                          CHECK(cudaMemsetAsync(count, 0, sizeof(int)));
                          primes::strike<<<4, 96>>>(composite, n);
                          primes::check<<<groups(n, 256), 256>>>(composite, n, count);
                        },
                        [=](int *count) { *count = loops::primes(n, composite); }});
  CHECK(cudaFree(composite));

  auto list = [=](auto *nodes) {
    for (int i = 0; i < length; ++i) nodes[i] = {i * 3, i + 1 < length ? nodes + i + 1 : nullptr};
    return nodes;
  };
  auto *ours = list(managed<linked_list::Node>(length));
  auto *theirs = list(managed<loops::Node>(length));
  compare<int>(rounds, {"linked_list", 32, [=](int *lengths) { linked_list::add<<<1, 32>>>(ours, lengths); },
                        [=](int *lengths) { std::fill_n(lengths, 32, loops::walk(theirs)); }});
  for (int i = 0; i < length; ++i) same("linked_list", 1, &ours[i].value, &theirs[i].value);
  CHECK(cudaFree(ours));
  CHECK(cudaFree(theirs));
}
