"""N-Body (after NVIDIA's and AMD's samples) and MD (after SHOC): forces between particles."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    Nat,
    add,
    array,
    float32,
    fun,
    head,
    id,
    int32,
    join,
    literal,
    lookup,
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_wrg,
    reduce,
    reduce_seq,
    replicate,
    size,
    split,
    split_guarded,
    to_global,
    to_local,
    to_private,
    transpose,
    user_function,
    vector,
    zip,
)
from tests.lift.programs.benchmark import UNIT, Array, Benchmark, Reference, gamma, uniform

float4 = vector(float32, 4)

SOFTENING = 0.25
TIME_STEP = 0.01

ACCELERATION = user_function(
    """
    float4 acceleration(float4 p1, float4 p2, float softening) {
      float4 r = p2 - p1;
      r.w = 0.0f;
      float distance = r.x * r.x + r.y * r.y + r.z * r.z + softening;
      float inverse = 1.0f / sqrt(distance);
      return p2.w * inverse * inverse * inverse * r;
    }
    """
)
MOVE = user_function(
    """
    (float4, float4) move(float4 position, float4 velocity, float4 acceleration, float step) {
      float4 moved = position + velocity * step + 0.5f * acceleration * step * step;
      moved.w = position.w;
      return tuple(moved, velocity + acceleration * step);
    }
    """
)
ADD_ACCELERATION = user_function(
    """
    float4 addAcceleration(float4 sum, float4 p1, float4 p2, float softening) {
      float4 r = p2 - p1;
      r.w = 0.0f;
      float distance = r.x * r.x + r.y * r.y + r.z * r.z + softening;
      float inverse = 1.0f / sqrt(distance);
      return sum + p2.w * inverse * inverse * inverse * r;
    }
    """
)
ZERO4 = literal(0, float4)
GROUP = 4


def nbody() -> Lambda:
    n = size("N")
    return fun(
        array(float4, n),
        array(float4, n),
        float32,
        float32,
        lambda positions, velocities, softening, step: (
            zip(positions, velocities)
            >> map(
                lambda position, velocity: (
                    positions
                    >> map(lambda other: ACCELERATION(position, other, softening))
                    >> reduce(ZERO4, add)
                    >> map(lambda sum: MOVE(position, velocity, sum, step))
                )
            )
            >> join
        ),
        name="nbody",
    )


def nbody_amd(multiple_of: int = 1) -> Lambda:
    """Return the form of AMD's sample: a work-item for each particle, no local memory."""
    n = size("N", multiple_of)
    return fun(
        array(float4, n),
        array(float4, n),
        float32,
        float32,
        lambda positions, velocities, softening, step: (
            zip(positions, velocities)
            >> map_glb(
                lambda position, velocity: (
                    positions
                    >> reduce_seq(ZERO4, lambda sum, other: ADD_ACCELERATION(sum, position, other, softening))
                    >> to_global(map_seq(lambda sum: MOVE(position, velocity, sum, step)))
                )
            )
            >> join
        ),
        name="nbodyAmd",
    )


def nbody_nvidia(size_of_group: int = GROUP) -> Lambda:
    """Return the form of NVIDIA's sample: work-groups read all particles in tiles through local memory.

    The number of particles must be a multiple of the group's size.
    """
    zeros = replicate(size_of_group, ZERO4)
    return nbody_tiled(size("N", multiple_of=size_of_group), split(size_of_group), lambda chunk: zeros, "nbodyNvidia")


def nbody_nvidia_guarded() -> Lambda:
    """Return the form of NVIDIA's sample for any number of particles: the last group and the last tile are guarded."""

    def zeros(chunk: Any) -> Any:
        return chunk >> map_lcl(lambda particle: to_private(id)(ZERO4))

    return nbody_tiled(size("N"), split_guarded(GROUP), zeros, "nbodyNvidiaGuarded")


def nbody_tiled(n: Nat, cut: Any, zeros: Any, name: str) -> Lambda:
    """Return N-body with tiles in local memory: `cut` makes groups and tiles, `zeros` the sums of a group's start."""

    def group(chunk: Any, positions: Any, softening: Any, step: Any) -> Any:
        def add_tile(sums: Any, tile: Any) -> Any:
            return to_local(map_lcl(id))(tile) >> (
                lambda local: (
                    zip(chunk, sums)
                    >> map_lcl(
                        lambda particle, sum: (
                            local
                            >> reduce_seq(
                                sum, lambda total, other: ADD_ACCELERATION(total, particle[0], other, softening)
                            )
                            >> head
                        )
                    )
                )
            )

        return (
            cut(positions)
            >> reduce_seq(zeros(chunk), add_tile)
            >> head
            >> (
                lambda sums: (
                    zip(chunk, sums)
                    >> to_global(map_lcl(lambda particle, sum: MOVE(particle[0], particle[1], sum, step)))
                )
            )
        )

    return fun(
        array(float4, n),
        array(float4, n),
        float32,
        float32,
        lambda positions, velocities, softening, step: (
            zip(positions, velocities) >> cut >> map_wrg(lambda chunk: group(chunk, positions, softening, step)) >> join
        ),
        name=name,
    )


def nbody_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    (n,) = sizes
    positions = uniform(random, n, 4)
    positions[:, 3] = np.abs(positions[:, 3])
    return [positions, uniform(random, n, 4), SOFTENING, TIME_STEP]


def nbody_reference(
    positions: Array, velocities: Array, softening: float, step: float, *, chosen: Array | None = None
) -> Reference:
    """Compute all bodies, or the chosen ones."""
    others = positions.astype(np.float64)
    bodies = slice(None) if chosen is None else chosen
    p, v = others[bodies], velocities[bodies].astype(np.float64)
    softening, step = float(np.float32(softening)), float(np.float32(step))
    r = others[np.newaxis, :, :3] - p[:, np.newaxis, :3]
    distance = (r * r).sum(axis=2) + softening
    weight = others[np.newaxis, :, 3] / distance**1.5
    terms = weight[:, :, np.newaxis] * r
    acceleration = terms.sum(axis=1)
    # A term has at most 20 roundings; a difference of coordinates may lose as much as 2 u of their magnitude.
    scale = np.abs(others[np.newaxis, :, :3]) + np.abs(p[:, np.newaxis, :3])
    sizes = (weight[:, :, np.newaxis] * scale).sum(axis=1)
    slopes = (3 * weight / distance * np.sqrt((r * r).sum(axis=2)) * scale.sum(axis=2)).sum(axis=1)
    error = gamma(len(others) + 20) * sizes + 4 * UNIT * slopes[:, np.newaxis]
    moved = p.copy()
    moved[:, :3] += v[:, :3] * step + 0.5 * acceleration * step * step
    moved_error = np.zeros_like(p)
    moved_error[:, :3] = gamma(6) * (np.abs(p[:, :3]) + np.abs(v[:, :3]) * step + sizes * step * step) + error * step
    faster = v.copy()
    faster[:, :3] += acceleration * step
    faster_error = np.zeros_like(p)
    faster_error[:, :3] = gamma(3) * (np.abs(v[:, :3]) + sizes * step) + error * step
    return Reference((moved, faster), (moved_error, faster_error))


# MD: Lennard-Jones forces of neighbours that a list names

FORCE = user_function(
    """
    float4 addForce(float4 force, float4 p1, float4 p2, float cutoff, float lj1, float lj2) {
      float4 r = p1 - p2;
      r.w = 0.0f;
      float squared = dot(r, r);
      if (squared < cutoff) {
        float inverse = 1.0f / squared;
        float sixth = inverse * inverse * inverse;
        force = force + inverse * sixth * (lj1 * sixth - lj2) * r;
      }
      return force;
    }
    """
)


def molecular_dynamics_with(outer: Any, inner: Any, name: str) -> Lambda:
    n, m = size("N"), size("M")
    return fun(
        array(float4, n),
        array(int32, m, n),
        float32,
        float32,
        float32,
        lambda positions, neighbours, cutoff, lj1, lj2: (
            zip(positions, transpose(neighbours))
            >> outer(
                lambda position, indices: inner(
                    reduce_seq(
                        ZERO4,
                        lambda force, other: FORCE(force, position, other, cutoff, lj1, lj2),
                        lookup(positions, indices),
                    )
                )
            )
            >> join
        ),
        name=name,
    )


def molecular_dynamics() -> Lambda:
    return molecular_dynamics_with(map, lambda forces: forces, "md")


def molecular_dynamics_global() -> Lambda:
    return molecular_dynamics_with(map_glb, to_global(map_seq(id)), "mdGlobal")


def molecular_dynamics_groups() -> Lambda:
    """Return the form with work-groups, whose last one may be smaller."""

    def outer(function: Any) -> Any:
        return split_guarded(GROUP) >> map_wrg(map_lcl(function)) >> join

    return molecular_dynamics_with(outer, to_global(map_seq(id)), "mdGroups")


def molecular_dynamics_arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    """Place particles on a grid, slightly moved, so that none are close to each other or to the cutoff."""
    n, m = sizes
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:n]
    positions = np.zeros((n, 4), np.float32)
    positions[:, :3] = grid + random.uniform(-0.05, 0.05, (n, 3))
    neighbours = (np.arange(n) + random.integers(1, max(n, 2), (m, n))) % n
    neighbours = np.where(neighbours == np.arange(n), (np.arange(n) + 1) % n, neighbours)
    return [positions, neighbours.astype(np.int32), 4.5, 1.5, 2.0]


def molecular_dynamics_reference(p: Array, neighbours: Array, cutoff: float, lj1: float, lj2: float) -> Reference:
    p = p.astype(np.float64)
    r = p[:, np.newaxis, :3] - p[neighbours.T][:, :, :3]
    squared = (r * r).sum(axis=2)
    near = (squared < cutoff)[:, :, np.newaxis]
    inverse = 1 / squared
    sixth = inverse**3
    terms = (inverse * sixth * (lj1 * sixth - lj2))[:, :, np.newaxis] * r
    sizes = (inverse * sixth * (lj1 * sixth + lj2))[:, :, np.newaxis] * np.abs(r)
    # r may be off by u of the larger coordinate, and a force falls with the 13th power of the distance at most.
    moved = np.abs(p[:, :3]).max() * UNIT / np.sqrt(squared)[:, :, np.newaxis]
    slopes = (inverse * sixth * (lj1 * sixth + lj2) * np.sqrt(squared))[:, :, np.newaxis] * 15 * moved
    forces = np.zeros((len(p), 4))
    forces[:, :3] = np.where(near, terms, 0).sum(axis=1)
    errors = np.zeros((len(p), 4))
    errors[:, :3] = np.where(near, gamma(len(neighbours) + 30) * sizes + 2 * slopes, 0).sum(axis=1)
    return Reference(forces, errors)


NBODY_SIZES = [(1,), (4,), (7,), (13,), (16,), (31,)]
FORMS = {"global": molecular_dynamics_global, "groups": molecular_dynamics_groups}

BENCHMARKS = [
    Benchmark(
        "N-Body NVIDIA",
        nbody,
        {"local": nbody_nvidia, "guarded": nbody_nvidia_guarded},
        nbody_arguments,
        nbody_reference,
        NBODY_SIZES,
        {"local": (GROUP,)},
    ),
    Benchmark("N-Body AMD", nbody, {"global": nbody_amd}, nbody_arguments, nbody_reference, NBODY_SIZES),
    Benchmark(
        "MD",
        molecular_dynamics,
        FORMS,
        molecular_dynamics_arguments,
        molecular_dynamics_reference,
        [(2, 1), (5, 3), (13, 7), (27, 16)],
    ),
]
