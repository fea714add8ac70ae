"""User functions and the structs of their tuples, as OpenCL C."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from drawloom.lift.codegen.syntax import Struct
from drawloom.lift.language.types import ScalarType, TupleType, Type, VectorType
from drawloom.lift.language.user_functions.function import UserFunction
from drawloom.lift.language.user_functions.printer import CPrinter
from drawloom.lift.language.user_functions.syntax import FunctionTree


class FunctionTable(CPrinter):
    """The functions and structs that the kernels of a program share, each under a name of its own.

    `fresh_name` names the variables of one kernel, between two calls of `begin_kernel`.
    """

    def __init__(self) -> None:
        self.names: dict[tuple[UserFunction, tuple[Type, ...]], str] = {}
        self.taken: set[str] = set(KEYWORDS)
        self.variables: set[str] = set()
        self.texts: list[str] = []
        self.structs: dict[TupleType, Struct] = {}
        self.extensions: set[str] = set()
        self.helpers: dict[str, str] = {}

    def begin_kernel(self, names: Iterable[str]) -> None:
        """Forget the variables of the last kernel; the next one's have other names than the given ones."""
        self.variables = set(names)

    def name_of(self, function: UserFunction, types: tuple[Type, ...]) -> str:
        """Return the C name of a user function for arguments of some types, printing it at its first use."""
        found = self.names.get((function, types))
        if found is not None:
            return found
        tree = function.instantiate(types)
        name = self.global_name(tree.name)
        self.names[function, types] = name
        renamed = FunctionTree(name, tree.parameters, tree.result, tree.body, tree.position)
        self.texts.append(self.function(renamed))
        return name

    def name_of_helper(self, name: str, text: str) -> str:
        """Return the name of a function that is not the program's, whose text calls it NAME."""
        found = self.helpers.get(text)
        if found is None:
            found = self.global_name(name)
            self.helpers[text] = found
            self.texts.append(text.replace("NAME", found))
        return found

    def global_name(self, name: str) -> str:
        """Return a name for a function, a struct or a kernel."""
        found = self.free_name(name)
        self.taken.add(found)
        return found

    def fresh_name(self, name: str) -> str:
        """Return a name for a variable of the kernel."""
        found = self.free_name(name)
        self.variables.add(found)
        return found

    def free_name(self, name: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if RESERVED.match(name) or not re.search("[A-Za-z]", name):
            name = f"user_{name}"
        mark = "_" if name[-1].isdigit() else ""
        candidate, at = name, 2
        while candidate in self.taken or candidate in self.variables or RESERVED.match(candidate):
            candidate, at = f"{name}{mark}{at}", at + 1
        return candidate

    def fresh_array_name(self, name: str) -> str:
        """Return a name whose numbered elements, ``name_0`` and so on, are free, too."""
        found = self.fresh_name(name)
        while any(other.startswith(found + "_") for other in (*self.taken, *self.variables)):
            found = self.fresh_name(name)
        return found

    def spell_type(self, type: Type) -> str:
        if isinstance(type, TupleType):
            return self.struct_of(type).name
        assert isinstance(type, ScalarType | VectorType)
        extension = EXTENSIONS.get(str(type.element if isinstance(type, VectorType) else type))
        if extension is not None:
            self.extensions.add(extension)
        return str(type)

    def spell_tuple(self, type: Type, parts: list[str]) -> str:
        return f"({self.spell_type(type)}){{" + ", ".join(parts) + "}"

    def struct_of(self, type: TupleType) -> Struct:
        found = self.structs.get(type)
        if found is None:
            members = list(type.elements)
            words = [self.spell_type(member) for member in members]
            found = Struct(self.global_name("tuple_" + "_".join(words)), members)
            self.structs[type] = found
        return found

    def struct_texts(self) -> list[str]:
        texts: list[str] = []
        for struct in self.structs.values():
            members = " ".join([f"{self.spell_type(type)} _{at};" for at, type in enumerate(struct.members)])
            texts.append(f"typedef struct {{ {members} }} {struct.name};")
        return texts

    def definitions(self) -> str:
        """Return the text before the kernels."""
        return "".join([f"{line}\n" for line in (*self.pragmas(), *self.struct_texts(), *self.texts)])

    def pragmas(self) -> list[str]:
        return [f"#pragma OPENCL EXTENSION {extension} : enable" for extension in sorted(self.extensions)]


#: What the types that not every device has need.
EXTENSIONS: Final = {"double": "cl_khr_fp64", "half": "cl_khr_fp16"}

#: Names that a user function, a parameter or a buffer may not have in OpenCL C: built-in functions and keywords.
KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto half if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while kernel global local constant private bool uchar ushort uint ulong size_t event_t image2d_t "
    "sampler_t abs abs_diff acos acosh add_sat all any asin asinh atan atan2 atanh barrier bitselect cbrt ceil "
    "clamp clz copysign cos cosh cospi cross degrees distance dot erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod fract frexp hadd hypot ilogb isequal isfinite isinf isless isnan isnormal ldexp "
    "length lgamma log log10 log1p log2 logb mad mad24 mad_hi mad_sat max maxmag min minmag mix modf mul24 "
    "mul_hi nan nextafter normalize popcount pow pown powr prefetch radians remainder remquo rhadd rint rootn "
    "rotate round rsqrt select sign signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi "
    "tgamma trunc upsample vec_step vload2 vstore2 word seen before".split()
)
#: Names that begin as those of OpenCL's functions, macros and types do.
RESERVED: Final = re.compile(
    r"(get_|as_|convert_|vload|vstore|atomic_|atom_|sub_group_|work_group_|async_|wait_group_|native_|half_|read_|write_|"
    r"mem_fence|cl_|CL_|CLK_|CHAR_|SCHAR_|UCHAR_|SHRT_|USHRT_|INT_|UINT_|LONG_|ULONG_|FLT_|DBL_|HALF_|HUGE_|MAXFLOAT|"
    r"INFINITY|NAN|FP_|M_|__|[0-9]|(char|uchar|short|ushort|int|uint|long|ulong|half|float|double)(2|3|4|8|16)$)"
)
