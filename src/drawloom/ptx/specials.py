"""The special registers of PTX (PTX ISA 9.0 chapter 10) as data: name to type, uniformity and requirements."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.types import PRED, U32, U64, Type

# A row is: names | type | "v4" for a vector with components | who sees one value | flags | least PTX version, sm.
# Who sees one value: grid, block, warp (all lanes of a warp), lane (each its own). Flags: "u16" may also be read
# as 16 bits and "u32" as 32 bits (the widths they had before PTX 2.0 and 3.0), "volatile" may change between two
# reads. Requirements are what the driver's assembler demands, which is less than the manual says for old ones.
# fmt: off
_TABLE: Final = """
tid                       | u32  | v4 | lane  | u16          | 1.0 10
ntid                      | u32  | v4 | grid  | u16          | 1.0 10
ctaid                     | u32  | v4 | block | u16          | 1.0 10
nctaid                    | u32  | v4 | grid  | u16          | 1.0 10
laneid                    | u32  |    | lane  |              | 1.3 10
warpid                    | u32  |    | warp  | volatile     | 1.3 10
nwarpid                   | u32  |    | grid  |              | 2.0 20
smid                      | u32  |    | warp  | volatile     | 1.3 10
nsmid                     | u32  |    | grid  |              | 2.0 20
gridid                    | u64  |    | grid  | u16 u32      | 1.0 10
lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt | u32 | | lane | | 2.0 20
clock clock_hi            | u32  |    | lane  | volatile     | 1.0 10
clock64                   | u64  |    | lane  | volatile     | 2.0 20
globaltimer               | u64  |    | lane  | volatile     | 3.1 30
globaltimer_lo globaltimer_hi | u32 | | lane  | volatile     | 3.1 30
pm0 pm1 pm2 pm3           | u32  |    | lane  | volatile     | 1.3 10
pm4 pm5 pm6 pm7           | u32  |    | lane  | volatile     | 3.0 20
pm0_64 pm1_64 pm2_64 pm3_64 pm4_64 pm5_64 pm6_64 pm7_64 | u64 | | lane | volatile | 4.0 50
total_smem_size dynamic_smem_size | u32 | | grid |            | 4.1 20
aggr_smem_size            | u32  |    | grid  |              | 8.1 90
reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap | u32 | | grid | | 7.6 80
reserved_smem_offset_0 reserved_smem_offset_1 | u32 | | grid |  | 7.6 80
current_graph_exec        | u64  |    | grid  |              | 8.0 50
is_explicit_cluster       | pred |    | grid  |              | 7.8 90
clusterid cluster_ctaid   | u32  | v4 | block |              | 7.8 90
nclusterid cluster_nctaid | u32  | v4 | grid  |              | 7.8 90
cluster_ctarank           | u32  |    | block |              | 7.8 90
cluster_nctarank          | u32  |    | grid  |              | 7.8 90
"""
# fmt: on
_TYPES: Final[dict[str, Type]] = {"u32": U32, "u64": U64, "pred": PRED}
#: Component letters; ``.r .g .b .a`` are other spellings of ``.x .y .z .w``.
_COMPONENTS: Final[dict[str, int]] = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


class Special:
    """One special register. ``name`` is spelled with its ``%`` and without a component.

    ``type`` is the type of one component; ``is_vector`` says that it has the components x, y, z, w (the last one
    always reads 0). ``uniformity`` is ``"grid"``, ``"block"``, ``"warp"`` or ``"lane"``: the largest group whose
    members all read the same value. ``narrow_bits`` are the smaller widths that ``mov`` may read it with.
    ``volatile`` registers may change between two reads by one lane.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        is_vector: bool,
        uniformity: str,
        narrow_bits: list[int],
        volatile: bool,
        version: tuple[int, int],
        sm: int,
    ) -> None:
        self.name = name
        self.type = type
        self.is_vector = is_vector
        self.uniformity = uniformity
        self.narrow_bits = narrow_bits
        self.volatile = volatile
        self.version = version
        self.sm = sm

    def __repr__(self) -> str:
        return self.name


def _load() -> dict[str, Special]:
    out: dict[str, Special] = {}
    for line in _TABLE.strip().splitlines():
        names, type_name, vector, uniformity, flags, needs = [column.strip() for column in line.split("|")]
        version, sm = needs.split()
        major, minor = version.split(".")
        words = flags.split()
        narrow = [int(word[1:]) for word in words if word != "volatile"]
        for name in names.split():
            out["%" + name] = Special(
                "%" + name, _TYPES[type_name], vector == "v4", uniformity, narrow, "volatile" in words,
                (int(major), int(minor)), int(sm),
            )  # fmt: skip
    for index in range(32):
        name = f"%envreg{index}"
        out[name] = Special(name, U32, False, "grid", [], False, (2, 1), 10)
    return out


#: Every special register by its name with ``%`` and without a component, such as ``"%tid"``.
SPECIALS: Final[dict[str, Special]] = _load()


def is_special(base: str) -> bool:
    """Whether ``base`` (such as ``"%tid"``, without a component) names a special register."""
    return base in SPECIALS


def find_special(name: str) -> Special | None:
    """The register that an operand name such as ``"%tid.x"``, ``"%tid"`` or ``"%laneid"`` means, or None.

    None too when the component does not exist (``"%laneid.x"``, ``"%tid.q"``).
    """
    base, dot, component = name.partition(".")
    special = SPECIALS.get(base)
    if special is None or not dot:
        return special
    return special if special.is_vector and component in _COMPONENTS else None


def component_index(name: str) -> int:
    """0 to 3 for the component in ``name`` (``"%tid.y"`` is 1); -1 where there is none."""
    return _COMPONENTS.get(name.partition(".")[2], -1)


def canonical(name: str) -> str:
    """``name`` with its component as one of x, y, z, w (``"%tid.r"`` becomes ``"%tid.x"``)."""
    index = component_index(name)
    return name if index < 0 else f"{name.partition('.')[0]}.{'xyzw'[index]}"


def special_type(name: str) -> Type:
    """The type of one component of a special register; raises ``KeyError`` for an unknown name."""
    return SPECIALS[name.partition(".")[0]].type


def uniformity(name: str) -> str:
    """``"grid"``, ``"block"``, ``"warp"`` or ``"lane"``; raises ``KeyError`` for an unknown name."""
    return SPECIALS[name.partition(".")[0]].uniformity
