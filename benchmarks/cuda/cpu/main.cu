// Prints for each program the median milliseconds of its kernels and of the same algorithm as OpenMP loops.
#include "harness.h"

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 15;
  for (auto part : {elementwise, stencils, reductions, scans, sorting, graphs, dense}) part(rounds);
}
