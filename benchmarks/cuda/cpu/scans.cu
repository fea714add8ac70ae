// Running sums.
#include "harness.h"

namespace scan_blocks {
#include "scan_blocks.cu"
}
namespace scan_lookback {
#include "scan_lookback.cu"
}
namespace compaction {
#include "compaction.cu"
}

void scans(int rounds) {
  const int n = 1 << 22;
  int *in = filled<int>(n, [](unsigned i) { return mixed(i) % 100; });
  compare<int>(rounds, {"scan_blocks", n, [=](int *out) { scan_blocks::scan_all(in, out, n); },
                        [=](int *out) { loops::scan(n, in, out); }});
  const int blocks = n / scan_lookback::kBlock;
  int *ticket = managed<int>(1);
  auto *cells = managed<scan_lookback::Cell>(blocks);
  compare<int>(rounds, {"scan_lookback", n,
                        [=](int *out) {
                          CHECK(cudaMemsetAsync(ticket, 0, sizeof *ticket));
                          CHECK(cudaMemsetAsync(cells, 0, blocks * sizeof *cells));
                          scan_lookback::scan<<<blocks, scan_lookback::kBlock>>>(in, out, cells, ticket, n);
                        },
                        [=](int *out) { loops::scan(n, in, out); }});
  int *count = managed<int>(1), *theirs = managed<int>(1);
  compare<int>(rounds, {"compaction", n, [=](int *out) { compaction::compact<<<1, 256>>>(in, n, out, count); },
                        [=](int *out) { *theirs = loops::compact(n, in, out); }});
  same("compaction", 1, count, theirs);
  for (void *memory : {(void *)in, (void *)ticket, (void *)cells, (void *)count, (void *)theirs})
    CHECK(cudaFree(memory));
}
