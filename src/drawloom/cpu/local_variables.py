"""The local memory that a function's lanes may access, told to the check of accesses: one record for each variable.

    SLOT_VARIABLES -> the innermost function's records -> its caller's -> ... -> the kernel's

Local are ``.local`` variables, what ``alloca`` gives, and the parameters and results of device functions, whose
addresses ``mov`` takes. A function may access its callers' by pointers, and nobody the variables of one that returned.
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body
from drawloom.cpu.emitter import Value, int_const
from drawloom.cpu.stack import Stack
from drawloom.ptx.ir import Variable

_NONE = int_const("i64", 0)


class LocalVariables:
    """Emits the records of one function."""

    def __init__(self, body: Body, stack: Stack) -> None:
        self.body = body
        self.stack = stack
        self.f = body.f
        self.e = body.e
        #: The stack slot of the caller's first record.
        self.outer = ""

    def enter_kernel(self) -> None:
        """Add the kernel's records each time that it is entered, at its beginning or behind a stop: they stand on the
        native stack, and other warps' records were there in between."""
        outer, self.e.lines = self.e.lines, []
        start = self.stack.unit()
        records = _NONE
        for variable in self.local_variables():
            records = self.add(records, self.e.binary("add", start, self.offset(variable)), variable.size, _NONE)
        if self.body.has_stack:
            bottom = self.e.binary("add", start, int_const("i64", self.body.local_bytes))
            ends = self.e.value("i64", 0, f"ptrtoint ptr {self.stack.tops()} to i64")
            records = self.add(records, bottom, 0, ends)
        self.f.set_word("%slot", abi.SLOT_VARIABLES, records)
        self.f.allocas.extend(self.e.lines)
        self.e.lines = outer

    def enter_function(self) -> None:
        """Add a device function's records before its caller's."""
        self.outer = self.f.alloca("outer.variables", "i64")
        records = self.f.word("%slot", abi.SLOT_VARIABLES, False)
        self.f.store(records, self.outer)
        for variable in self.local_variables():
            start = self.f.load(self.f.local_slot, "i64", 0)
            records = self.add(records, self.e.binary("add", start, self.offset(variable)), variable.size, _NONE)
        function = self.body.function
        for variable in [*function.params, *function.returns]:
            if variable.register is None:
                block = self.e.value("i64", 0, f"ptrtoint ptr {self.f.blocks[variable.name]} to i64")
                stride = self.f.block_strides[variable.name]
                records = self.add(records, block, variable.size, _NONE, stride)
        self.f.set_word("%slot", abi.SLOT_VARIABLES, records)

    def leave_function(self) -> None:
        """Leave the caller with its own records."""
        self.f.set_word("%slot", abi.SLOT_VARIABLES, self.f.load(self.outer, "i64", 0))

    def local_variables(self) -> list[Variable]:
        return [v for v in self.body.function.variables if v.space == "local"]

    def offset(self, variable: Variable) -> Value:
        return int_const("i64", self.f.local_offsets[variable.name])

    def add(self, following: Value, begin: Value, size: int, ends: Value, stride: int = 0) -> Value:
        """The address of a new record in front of ``following``."""
        record = self.f.alloca("variable", f"[{abi.VARIABLE_WORDS} x i64]")
        self.f.set_word(record, abi.VARIABLE_NEXT, following)
        self.f.set_word(record, abi.VARIABLE_BEGIN, begin)
        self.f.set_word(record, abi.VARIABLE_STRIDE, int_const("i64", stride or self.body.local_stride))
        self.f.set_word(record, abi.VARIABLE_BYTES, int_const("i64", size))
        self.f.set_word(record, abi.VARIABLE_ENDS, ends)
        return self.e.value("i64", 0, f"ptrtoint ptr {record} to i64")
