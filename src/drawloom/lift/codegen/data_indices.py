"""Indices that are data, of `lookup` and atomic maps: trusted, or checked by the kernel where its user asks for that.

A checked kernel has one more argument, three ints that the host sets to zero. The first work-item that finds an index
outside its array stores the number of the access, the index and the length there, and takes element 0 instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.lift.arithmetic import Nat, Variable, index
from drawloom.lift.codegen.syntax import Apply, DeclareIndex, Index, Text, Value
from drawloom.lift.language.ir import Call

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator

#: The ints of the argument: the number of an access from 1, its index, and the length of its array.
REPORT_LENGTH: Final = 3
CHECK: Final = """\
int NAME(int at, int length, volatile global int *fault, int access) {
  if (at >= 0 && at < length) { return at; }
  if (atomic_cmpxchg(fault, 0, access) == 0) { fault[1] = at; fault[2] = length; }
  return 0;
}"""


def declare_data_index(generator: Generator, call: Call, value: Value, length: Nat) -> Variable:
    """Emit the declaration of an index of a call, below a length, whose value is data; return the index."""
    found = index(generator.fresh("at"), length)
    if generator.fault:
        access = Text(str(generator.number_access(call)))
        name = generator.functions.name_of_helper("checked_index", CHECK)
        value = Apply(f"{name}(", [value, Index(length), Text(generator.fault), access])
    generator.statements.append(DeclareIndex(found, value))
    return found
