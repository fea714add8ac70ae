"""PTX instructions that no machine instruction stands for, to sequences of PTX instructions that have one.

``expand`` runs before selection. What is left afterwards are the primitives that docs/sass.md lists: among them
``rcp``, ``rsqrt`` and ``sqrt.approx.ftz.f32``, ``rcp`` and ``rsqrt.approx.ftz.f64``, ``fma``, ``mul`` and ``add`` with
all roundings. Methods: docs/sass.md, section Expansions.
"""

from drawloom.sass.expand.expand import expand

__all__ = ["expand"]
