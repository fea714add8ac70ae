"""The twelve benchmarks of thesis table 4.2: a low-level Lift program and a hand-written kernel, on the same arrays.

Both sides have the same work-groups, tiles and registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.lift import programs
from benchmarks.lift.launches import Launch, Side
from drawloom.lift import Lambda
from tests.lift.programs import imaging, learning, linear_algebra, matrix_multiplication, particles
from tests.lift.programs.benchmark import Reference, uniform

KERNELS = Path(__file__).resolve().parent / "kernels"

Array = npt.NDArray[Any]
Size = tuple[int, ...]
#: From arguments and a size: the launches of a hand-written program, and the arrays of its results.
Launches = Callable[[Sequence[Any], Size], tuple[list[Launch], list[Array]]]


@dataclass(frozen=True)
class Case:
    """One benchmark.

    Args:
        name: As in table 4.2.
        source: Where table 4.2's kernel comes from, whose algorithm both sides have.
        program: Makes the low-level Lift program.
        high_level: Makes the high-level one.
        local_size: Work-items of a group.
        files: The files of the hand-written kernels, which are one text.
        launches: How they are launched.
        arguments: Makes arguments for a size.
        reference: Computes the result, or its first elements, in double precision with bounds.
        sizes: Table 4.2's small and large size, and one for tests.
        lines: Table 4.2's lines of OpenCL, high-level and low-level Lift.
    """

    name: str
    source: str
    program: Callable[[], Lambda]
    high_level: Callable[[], Lambda]
    local_size: Size
    files: tuple[str, ...]
    launches: Launches
    arguments: Callable[[np.random.Generator, Size], list[Any]]
    reference: Callable[..., Reference]
    sizes: dict[str, Size]
    lines: tuple[int, int, int]

    @property
    def text(self) -> str:
        """OpenCL C of the hand-written kernels."""
        return "".join([(KERNELS / file).read_text() for file in self.files])

    def hand_written(self, arguments: Sequence[Any], size: Size) -> Side:
        launches, results = self.launches(arguments, size)
        return Side(self.text, launches, results)

    def check(self, reference: Reference, results: Sequence[Array]) -> None:
        """Fail unless results are within the bounds of the reference, which may have the first elements only."""
        values = reference.values if isinstance(reference.values, tuple) else (reference.values,)
        found = [result.reshape(-1)[: value.size].reshape(value.shape) for result, value in zip(results, values)]
        reference.check(tuple(found) if isinstance(reference.values, tuple) else found[0])


#: How many of N-body's particles and MRI-Q's voxels the reference computes.
SAMPLED = 64


def floats(*shape: int) -> Array:
    return np.empty(shape, np.float32)


def flat(groups: int, local: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return (groups, 1, 1), (local, 1, 1)


def nbody(group: int) -> Launches:
    def launches(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
        (n,) = size
        results = [floats(n, 4), floats(n, 4)]
        return [Launch("nbody", *flat(n // group, group), [*arguments, *results, n])], results

    return launches


def molecular_dynamics(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    n, count = size
    forces = floats(n, 4)
    return [Launch("forces", *flat(n // 128, 128), [*arguments, forces, n, count])], [forces]


def k_means(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    membership = np.empty(size[0], np.int32)
    return [Launch("nearest_cluster", *flat(size[0] // 128, 128), [*arguments, membership, *size])], [membership]


def nearest_neighbour(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    (n,) = size
    (latitudes, longitudes), latitude, longitude = arguments
    distances = floats(n)
    given = [latitudes, longitudes, latitude, longitude, distances, n]
    return [Launch("distances", *flat(n // 128, 128), given)], [distances]


def mriq(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    samples, voxels = size
    phi_re, phi_im, kx, ky, kz, *places = arguments
    magnitude, re, im = floats(samples), floats(voxels), floats(voxels)
    return [
        Launch("magnitudes", *flat(-(-samples // 128), 128), [phi_re, phi_im, magnitude, samples]),
        Launch("q", *flat(voxels // 128, 128), [kx, ky, kz, magnitude, *places, re, im, samples]),
    ], [re, im]


def mriq_reference(*arguments: Array) -> Reference:
    return imaging.mriq_reference(*arguments[:5], *[array[:SAMPLED] for array in arguments[5:]])


def convolution(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    image, weights = arguments
    height, width = size
    between, blurred = floats(height, width), floats(height, width)
    local = (32, 4, 1)
    return [
        Launch("rows", (width // 128, height // 4, 1), local, [image, weights, between, height, width]),
        Launch("columns", (width // 32, height // 32, 1), local, [between, weights, blurred, height, width]),
    ], [blurred]


def atax(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    matrix, x = arguments
    rows, columns = size
    product, result = floats(rows), floats(columns)
    return [
        Launch("by_rows", *flat(rows, 64), [matrix, x, product, columns]),
        Launch("by_columns", *flat(columns // 64, 64), [matrix, product, result, rows, columns]),
    ], [result]


def gemv(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    rows, columns = size
    result = floats(rows)
    return [Launch("gemv", *flat(rows, 64), [*arguments, result, columns])], [result]


def gesummv(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
    rows, columns = size
    a, b, x, alpha, beta = arguments
    product, result = floats(rows), floats(rows)
    return [
        Launch("product", *flat(rows // 64, 64), [b, x, product, rows, columns]),
        Launch("weigh", *flat(rows // 64, 64), [a, x, product, alpha, beta, result, rows, columns]),
    ], [result]


def multiplication(columns: int, rows: int, local: tuple[int, int, int]) -> Launches:
    """Launch groups that compute so many columns and rows of the result."""

    def launches(arguments: Sequence[Any], size: Size) -> tuple[list[Launch], list[Array]]:
        m, n, k = size
        product = floats(m, n)
        return [Launch("mm", (n // columns, m // rows, 1), local, [*arguments, product, k, m, n])], [product]

    return launches


def transposed_arguments(random: np.random.Generator, size: Size) -> list[Any]:
    m, n, k = size
    return [uniform(random, k, m), uniform(random, k, n)]


def transposed_reference(a: Array, b: Array) -> Reference:
    return matrix_multiplication.reference(a.T, b)


K, M = 1024, 1024 * 1024
MATRICES = {"small": (4 * K, 4 * K), "large": (8 * K, 8 * K), "test": (128, 192)}
SQUARES = {"small": (K, K, K), "large": (4 * K, 4 * K, 4 * K), "test": (64, 128, 48)}
BODIES = {"small": (16 * K,), "large": (128 * K,), "test": (512,)}

CASES = [
    Case(
        "N-Body NVIDIA",
        "NVIDIA SDK",
        lambda: particles.nbody_nvidia(256),
        particles.nbody,
        (256,),
        ("items.cl", "nbody_nvidia.cl"),
        nbody(256),
        particles.nbody_arguments,
        lambda *arguments: particles.nbody_reference(*arguments, chosen=np.arange(SAMPLED)),
        BODIES,
        (139, 34, 49),
    ),
    Case(
        "N-Body AMD",
        "AMD SDK",
        lambda: particles.nbody_amd(128),
        particles.nbody,
        (128,),
        ("items.cl", "nbody_amd.cl"),
        nbody(128),
        particles.nbody_arguments,
        lambda *arguments: particles.nbody_reference(*arguments, chosen=np.arange(SAMPLED)),
        BODIES,
        (54, 34, 34),
    ),
    Case(
        "MD",
        "SHOC",
        particles.molecular_dynamics_global,
        particles.molecular_dynamics,
        (128,),
        ("items.cl", "md.cl"),
        molecular_dynamics,
        particles.molecular_dynamics_arguments,
        particles.molecular_dynamics_reference,
        {"small": (12 * K, 128), "large": (72 * K, 128), "test": (256, 16)},
        (50, 34, 34),
    ),
    Case(
        "K-Means",
        "Rodinia",
        learning.k_means_global,
        learning.k_means,
        (128,),
        ("items.cl", "kmeans.cl"),
        k_means,
        learning.k_means_arguments,
        learning.k_means_reference,
        {"small": (200 * K, 5, 34), "large": (800 * K, 5, 34), "test": (256, 5, 34)},
        (32, 25, 25),
    ),
    Case(
        "NN",
        "Rodinia",
        learning.nearest_neighbour_global,
        learning.nearest_neighbour,
        (128,),
        ("items.cl", "nn.cl"),
        nearest_neighbour,
        learning.nearest_neighbour_arguments,
        learning.nearest_neighbour_reference,
        {"small": (8 * M,), "large": (32 * M,), "test": (1024,)},
        (18, 7, 7),
    ),
    Case(
        "MRI-Q",
        "Parboil",
        lambda: imaging.mriq_kernels(128),
        imaging.mriq,
        (128,),
        ("items.cl", "mriq.cl"),
        mriq,
        imaging.mriq_arguments,
        mriq_reference,
        {"small": (3 * K, 32 * K), "large": (2 * K, 256 * K), "test": (192, 256)},
        (41, 43, 43),
    ),
    Case(
        "Convolution",
        "NVIDIA SDK",
        lambda: programs.convolution_blocks((4, 128), (32, 32)),
        imaging.convolution,
        (32, 4),
        ("convolution.cl",),
        convolution,
        imaging.convolution_arguments,
        imaging.convolution_reference,
        {**MATRICES, "test": (64, 256)},
        (92, 48, 48),
    ),
    Case(
        "ATAX",
        "CLBlast",
        lambda: programs.atax_tiles(64),
        linear_algebra.atax,
        (64,),
        ("items.cl", "rows_by_groups.cl", "atax.cl"),
        atax,
        linear_algebra.atax_arguments,
        linear_algebra.atax_reference,
        MATRICES,
        (426, 30, 64),
    ),
    Case(
        "GEMV",
        "CLBlast",
        lambda: programs.gemv_rows(64),
        linear_algebra.gemv,
        (64,),
        ("rows_by_groups.cl", "gemv.cl"),
        gemv,
        linear_algebra.gemv_arguments,
        linear_algebra.gemv_reference,
        MATRICES,
        (213, 15, 32),
    ),
    Case(
        "GESUMMV",
        "CLBlast",
        lambda: programs.gesummv_tiles(64),
        linear_algebra.gesummv,
        (64,),
        ("items.cl", "rows_by_items.cl", "gesummv.cl"),
        gesummv,
        linear_algebra.gesummv_arguments,
        linear_algebra.gesummv_reference,
        MATRICES,
        (426, 30, 64),
    ),
    Case(
        "MM AMD",
        "CLBlast",
        programs.multiplication_blocked,
        matrix_multiplication.multiplication,
        (16, 8),
        ("items.cl", "mm_amd.cl"),
        multiplication(64, 32, (16, 8, 1)),
        transposed_arguments,
        transposed_reference,
        SQUARES,
        (768, 17, 38),
    ),
    Case(
        "MM NVIDIA",
        "CLBlast",
        lambda: programs.multiplication_tiled(64, 16),
        matrix_multiplication.multiplication,
        (16, 16),
        ("mm_nvidia.cl",),
        multiplication(64, 64, (16, 16, 1)),
        transposed_arguments,
        transposed_reference,
        SQUARES,
        (768, 17, 65),
    ),
]
