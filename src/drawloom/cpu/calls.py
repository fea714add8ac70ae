"""Calls: device functions by their blocks of parameters, indirect calls by function id, CUDA's runtime functions.

Every ``.param`` variable of a call is a block with one row per lane; caller and callee load and store it as
memory, so structures and vectors pass unchanged. ``vprintf``, ``__assertfail``, ``malloc`` and ``free`` go to
callbacks of the launch, lane by lane.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.body import Body
from drawloom.cpu.emitter import INT_ELEM, Value, int_const, type_of
from drawloom.cpu.memory import Memory
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Arguments, Function, Immediate, Instruction, LabelRef, Register, Symbol
from drawloom.ptx.layout import reachable_functions

#: How far a worker's stack goes below the lowest and above the highest address that a frame knows of it.
_STACK_BELOW: Final = 65536
_STACK_ABOVE: Final = 4096

_RUNTIME = ("vprintf", "__assertfail", "malloc", "free")


def symbol_of(name: str, lanes: int) -> str:
    """The LLVM name of a device function for vectors of so many lanes, 0 for its code for one thread."""
    return f'"{"func" if lanes else "thread"}.{name}"'


class Calls:
    """Lowers the calls of one function into its frame."""

    def __init__(self, body: Body, memory: Memory) -> None:
        self.body = body
        self.f = body.f
        self.memory = memory

    def lower(self, instruction: Instruction) -> Value | None:
        """Emit the call; returns the lanes that left the kernel in it, None where none can."""
        f = self.f
        results, callee, arguments = instruction.operands[0], instruction.operands[1], instruction.operands[2]
        if not isinstance(results, Arguments) or not isinstance(arguments, Arguments):
            raise f.error(instruction.pos, "malformed call")
        if isinstance(callee, Symbol):
            function = f.module.functions.get(callee.name)
            if callee.name in _RUNTIME and (function is None or not function.has_body):
                self.runtime_call(callee.name, results, arguments, instruction)
                return None
            if function is None or not function.has_body:
                raise UnsupportedError(f"function '{callee.name}' is called but not defined in this module")
            return self.direct(function, results, arguments, instruction)
        if isinstance(callee, Register):
            return self.indirect(callee, results, arguments, instruction)
        raise f.error(instruction.pos, f"'{callee!r}' cannot be called", "a function or a register")

    def direct(self, function: Function, results: Arguments, arguments: Arguments, at: Instruction) -> Value:
        pointers = [self.block_of(e, function.params[i].size) for i, e in enumerate(arguments.elements)]
        result = self.result_block(results, sum([v.size for v in function.returns]))
        gone = self.emit_call(function, result, pointers, self.f.mask)
        self.read_results(results, result)
        return gone

    def block_of(self, element: object, size: int) -> str:
        """The block of a ``.param`` variable, or a new one that holds a register or a literal."""
        f = self.f
        if isinstance(element, Symbol):
            block = f.blocks.get(element.name)
            if block is None:
                raise UnsupportedError(f"'{element.name}' is no .param variable of this function")
            return block
        block = f.alloca("arg", f"[{max(size, 1) * max(f.lanes, 1)} x i8]", 64)
        if isinstance(element, (Register, Immediate)):
            elem = INT_ELEM[size * 8]
            f.blocks["*"] = block
            f.block_strides["*"] = size
            place = self.memory.symbol_place(Symbol("*"), 0, "param")
            self.memory.store_lanes(place, [f.operand(element, elem, f.lanes)], elem, 1, False)
        return block

    def result_block(self, results: Arguments, size: int) -> str:
        for element in results.elements:
            if isinstance(element, Symbol):
                return self.f.blocks[element.name]
            return self.f.alloca("result", f"[{max(size, 1) * max(self.f.lanes, 1)} x i8]", 64)
        return "null"

    def read_results(self, results: Arguments, block: str) -> None:
        """Results that go to registers directly."""
        f = self.f
        for element in results.elements:
            if isinstance(element, Register):
                f.blocks["*"] = block
                f.block_strides["*"] = element.type.bytes
                place = self.memory.symbol_place(Symbol("*"), 0, "param")
                f.write_as(element, self.memory.load_lanes(place, f.passed_elem(element), 1, False)[0])

    def emit_call(self, function: Function, result: str, pointers: list[str], mask: Value) -> Value:
        f = self.f
        e = f.e
        arguments = ["ptr %launch", "ptr %slot", "i64 %index", "ptr %state", mask.typed]
        arguments += [self.body.warp_live().typed, f"ptr {result}"]
        arguments += [f"ptr {p}" for p in pointers]
        outcome = e.value("i64", 0, f"call i64 @{symbol_of(function.name, f.lanes)}({', '.join(arguments)})")
        bad, good = f.label("failed"), f.label("returned")
        failed = e.binary("and", outcome, int_const("i64", 1 << 32))
        f.branch_expected(e.icmp("eq", failed, int_const("i64", 0)), good, bad)
        f.place(bad)
        f.leave_with_fault()
        f.place(good)
        if not f.lanes:
            return e.cast("trunc", outcome, "i1")
        return f.bits_mask(e.cast("trunc", outcome, "i32"))

    def indirect(self, callee: Register, results: Arguments, arguments: Arguments, at: Instruction) -> Value:
        """Call each function that some active lane names, with the lanes that name it."""
        f = self.f
        e = f.e
        targets = self.candidates(at, len(results.elements), len(arguments.elements))
        gone = f.alloca("gone", f.slot_type("i1", f.lanes))
        f.store(f.no_lanes(), gone)
        ids = f.operand(callee, "i64", f.lanes)
        outer = f.mask
        left = outer
        size = max([sum([v.size for v in t.returns]) for t in targets], default=0)
        result = self.result_block(results, size)
        for target in targets:
            here = e.icmp("eq", ids, int_const("i64", f.function_ids[target.name], f.lanes))
            mask = e.binary("and", outer, here)
            left = e.binary("and", left, e.binary("xor", here, int_const("i1", 1, f.lanes)))
            then, done = f.label("callee"), f.label("next")
            f.branch(f.any_lane(mask), then, done)
            f.place(then)
            f.mask = mask
            pointers = [self.block_of(x, target.params[i].size) for i, x in enumerate(arguments.elements)]
            lost = self.emit_call(target, result, pointers, mask)
            f.store(e.binary("or", f.load(gone, "i1", f.lanes), lost), gone)
            f.jump(done)
            f.place(done)
        f.mask = outer
        wild, fine = f.label("wild"), f.label("called")
        f.branch(f.any_lane(left), wild, fine)
        f.place(wild)
        f.fail(abi.ERROR_CALL, at.pos, left)
        f.place(fine)
        self.read_results(results, result)
        return f.load(gone, "i1", f.lanes)

    def candidates(self, at: Instruction, results: int, arguments: int) -> list[Function]:
        """The functions that an indirect call may reach: those of its target list, else all that fit."""
        f = self.f
        named: list[str] = []
        if len(at.operands) > 3 and isinstance(at.operands[3], LabelRef):
            from drawloom.ptx.ir import CallTargets

            for statement in f.function.body:
                if isinstance(statement, CallTargets) and statement.name == at.operands[3].name:
                    named = statement.functions
        known = f.module.functions.values() if not named else [f.module.functions[n] for n in named]
        reach = {g.name for g in reachable_functions(f.module, f.function)}
        return [
            g
            for g in known
            if g.has_body
            and not g.is_entry
            and g.name in reach | {f.function.name}
            and len(g.params) == arguments
            and len(g.returns) == results
        ]

    # -- CUDA's runtime functions ------------------------------------------------------------------------

    def runtime_call(self, name: str, results: Arguments, arguments: Arguments, at: Instruction) -> None:
        f = self.f
        e = f.e
        memory = self.memory
        values = [memory.spill(self.argument(x)) for x in arguments.elements]
        word = {
            "vprintf": abi.LAUNCH_PRINTF, "__assertfail": abi.LAUNCH_ASSERT, "malloc": abi.LAUNCH_MALLOC,
            "free": abi.LAUNCH_FREE,
        }[name]  # fmt: skip
        callback = f.pointer(f.word("%launch", word))
        out = f.alloca("outcome", type_of("i64", f.lanes), 64)
        f.store(Value("zeroinitializer" if f.lanes else "0", "i64", f.lanes), out)
        lane = memory.lane_loop_begin(f.mask) if f.lanes else int_const("i32", 0)
        loaded = [memory.element(v, "i64", lane) for v in values]
        thread = e.cast("zext", lane, "i64")
        thread = e.binary("add", f.first_thread(), thread)
        block = f.word("%slot", abi.SLOT_BLOCK, False)
        while len(loaded) < 4:
            loaded.append(int_const("i64", 0))
        args = ", ".join([v.typed for v in [*loaded[:4], block, thread]])
        outcome = e.value("i64", 0, f"call i64 {callback.text}({args})")
        memory.set_element(out, outcome, lane)
        if f.lanes:
            memory.lane_loop_end()
        if name == "__assertfail":
            f.fail(abi.ERROR_ASSERT, at.pos, f.mask)
            f.place(f.label("unreached"))
            return
        returned = f.load(out, "i64", f.lanes)
        for element in results.elements:
            if isinstance(element, Register):
                f.write_as(element, f.as_elem(returned, f.elem_of(element)))
            elif isinstance(element, Symbol):
                elem = INT_ELEM[8 * f.block_strides[element.name]]
                place = memory.symbol_place(element, 0, "param")
                memory.store_lanes(place, [f.as_elem(returned, elem)], elem, 1, False)

    def argument(self, element: object) -> Value:
        """An argument of a runtime function as one 64-bit value per lane."""
        f = self.f
        if isinstance(element, Symbol):
            elem = INT_ELEM[8 * f.block_strides[element.name]]
            place = self.memory.symbol_place(element, 0, "param")
            value = self.memory.load_lanes(place, elem, 1, False)[0]
        elif isinstance(element, Register):
            value = f.read(element, f.lanes)
        elif isinstance(element, Immediate):
            value = f.operand(element, "i64", f.lanes)
        else:
            raise UnsupportedError(f"argument {element!r} is not supported")
        return f.e.cast("zext", value, "i64")

    def in_local(self, address: Value, lanes: int) -> Value:
        """Whether a generic address is in the block's local memory or on this thread's stack above this frame."""
        f = self.f
        e = f.e
        start = f.word("%slot", abi.SLOT_LOCAL, False)
        size = e.binary("mul", f.word("%launch", abi.LAUNCH_LOCAL), f.word("%launch", abi.LAUNCH_THREADS))
        in_slot = e.icmp("ult", e.binary("sub", address, e.splat(start, lanes)), e.splat(size, lanes))
        here = e.value("i64", 0, f"ptrtoint ptr {f.alloca('here', 'i8')} to i64")
        top = f.word("%slot", abi.SLOT_STACK, False)
        # Inlining may put this frame and the worker's into one, in either order.
        low = e.binary("sub", e.intrinsic("llvm.umin", [here, top]), int_const("i64", _STACK_BELOW))
        high = e.binary("add", e.intrinsic("llvm.umax", [here, top]), int_const("i64", _STACK_ABOVE))
        on_stack = e.icmp(
            "ult", e.binary("sub", address, e.splat(low, lanes)), e.splat(e.binary("sub", high, low), lanes)
        )
        return e.binary("or", in_slot, on_stack)
