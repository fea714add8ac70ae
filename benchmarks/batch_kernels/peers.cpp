// Peers of benchmarks/batch_peers.py: Eigen's fixed-size matrices, and LIBXSMM's generated products where it is there.
// SIZE and the type REAL are compile-time constants; matrices are row-major; one core.
#include <Eigen/Dense>
#ifdef WITH_XSMM
#include <libxsmm.h>
#endif

constexpr int N = SIZE;
using Matrix = Eigen::Matrix<REAL, N, N, Eigen::RowMajor>;
using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

extern "C" {

void eigen_gemm(long count, const REAL *a, const REAL *b, REAL *c) {
    for (long g = 0; g < count; g++)
        Map(c + g * N * N).noalias() = ConstMap(a + g * N * N) * ConstMap(b + g * N * N);
}

void eigen_lu(long count, const REAL *a, REAL *factors, int *order) {
    for (long g = 0; g < count; g++) {
        Eigen::PartialPivLU<Matrix> lu{ConstMap(a + g * N * N)};
        Map(factors + g * N * N) = lu.matrixLU();
        for (int i = 0; i < N; i++)
            order[g * N + lu.permutationP().indices()(i)] = i;
    }
}

void eigen_cholesky(long count, const REAL *a, REAL *factor) {
    for (long g = 0; g < count; g++)
        Map(factor + g * N * N) = Eigen::LLT<Matrix>(ConstMap(a + g * N * N)).matrixL();
}

void eigen_inverse(long count, const REAL *a, REAL *x) {
    for (long g = 0; g < count; g++)
        Map(x + g * N * N) = ConstMap(a + g * N * N).inverse();
}

void eigen_trsv(long count, const REAL *a, REAL *b) {
    for (long g = 0; g < count; g++) {
        ConstMap matrix(a + g * N * N);
        Eigen::Map<Eigen::Matrix<REAL, N, 1>> x(b + g * N);
        matrix.template triangularView<Eigen::UnitLower>().solveInPlace(x);
        matrix.template triangularView<Eigen::Upper>().solveInPlace(x);
    }
}

#ifdef WITH_XSMM
// LIBXSMM is column-major: the transposed product is B^T A^T.
int xsmm_gemm(long count, const REAL *a, const REAL *b, REAL *c) {
    const int flags = LIBXSMM_GEMM_FLAG_NONE | LIBXSMM_GEMM_FLAG_BETA_0;
    libxsmm_mmfunction<REAL> multiply(flags, N, N, N, 1, 0);
    if (!multiply)
        return 1;
    for (long g = 0; g < count; g++)
        multiply(b + g * N * N, a + g * N * N, c + g * N * N);
    return 0;
}
#endif
}
