"""Control flow: divergent branches, loops, switches, jumps, calls, exits, and uniform loops around barriers."""

from __future__ import annotations

from tools.programs.program import DECLARED, EDGES
from tools.programs.stack import StackStatements
from tools.programs.writer import Device, Registers


class ControlFlow(StackStatements):
    """Chooses statements and nests them."""

    def statements(self, depth: int, uniform: bool) -> None:
        """A run of statements; ``uniform`` says that all threads of the block execute it together."""
        for _ in range(self.random.randint(2, 7) if depth else 1000):
            if self.budget <= 0:
                return
            self.budget -= 1
            self._statement(depth, uniform)

    def _statement(self, depth: int, uniform: bool) -> None:
        pick = self.random.random()
        if pick < 0.58:
            self._operation(guarded=self.random.random() < 0.2)
        elif pick < 0.62:
            self._carry_chain()
        elif pick < 0.66:
            self._cross_over()
        elif pick < 0.74:
            self._memory()
        elif pick < 0.86 and depth < 3:
            choices = [self._if, self._if, self._loop, self._switch]
            if self.uses_stack:
                choices += [self._stack_scope] * 3
            if self.random.random() < 0.1:
                choices = [self._goto]
            self.random.choice(choices)(depth)
        elif pick < 0.89 and self.functions and self.in_kernel:
            self._call()
        elif uniform and self.in_kernel:
            self._together(depth)
        elif pick < 0.91 and self.in_kernel and not self.in_uniform_loop:
            self._exit(depth)
        else:
            self._operation(guarded=False)

    def _together(self, depth: int) -> None:
        """What needs the whole block, or is only worth it there."""
        choices = [self._warp_operation] * 2 + [self._reduction, self._barrier, self._masked_warp_operation]
        if self.uses_shared:
            choices += [self._shared_exchange, self._shared_exchange, self._shared_atomic]
        if self.uses_stack and depth < 3:
            choices += [self._stack_scope_together] * 2
        if self.uses_meetings:
            choices += [self._meeting] * 4
        if depth == 0:
            choices += [self._uniform_loop, self._uniform_if, self._exit, self._divergent_barrier_loop]
            choices += [self._active_mask]
            if self.random.random() < 0.15:
                choices = [self._lock, self._chain]
        choice = self.random.choice(choices)
        choice(depth)

    def _if(self, depth: int) -> None:
        p, negated = self._condition(), self.random.random() < 0.5
        other, end = self.label(), self.label()
        self.emit(f"@{'' if negated else '!'}{p} bra {other};")
        self.statements(depth + 1, False)
        if self.random.random() < 0.5:
            self.emit(f"bra {end};")
            self.emit(f"{other}:")
            self.statements(depth + 1, False)
            self.emit(f"{end}:")
        else:
            self.emit(f"{other}:")

    def _condition(self) -> str:
        """A predicate that differs between threads, or at times one that does not."""
        if not self.in_kernel or self.random.random() < 0.8:
            return self.reg("p")
        p = self.new("pred")
        self.emit(f"setp.gt.u32 {p}, {self.n}, {self.random.randint(0, 3)};")
        return p

    def _loop(self, depth: int) -> None:
        """A loop whose trip count differs between threads, with a way out in the middle at times."""
        counter, again = self.new("u32"), self.new("pred")
        head, end = self.label(), self.label()
        source = self.n if self.in_kernel and self.random.random() < 0.2 else self.reg("r")
        self.emit(f"and.b32 {counter}, {source}, {self.random.choice([3, 7])};")
        self.emit(f"{head}:")
        self.statements(depth + 1, False)
        if self.random.random() < 0.3:
            self.emit(f"@{self.reg('p')} bra {end};")
            self.statements(depth + 1, False)
        self.emit(f"sub.u32 {counter}, {counter}, 1;")
        self.emit(f"setp.gt.s32 {again}, {counter}, 0;")
        self.emit(f"@{again} bra {head};")
        self.emit(f"{end}:")

    def _switch(self, depth: int) -> None:
        index, targets = self.new("u32"), f"T{self.label()}"
        labels = [self.label() for _ in range(4)]
        end = self.label()
        self.emit(f"and.b32 {index}, {self.reg('r')}, 3;")
        listed = [self.random.choice(labels) for _ in range(4)] if self.random.random() < 0.3 else labels
        self.emit(f"{targets}: .branchtargets {', '.join(listed)};")
        self.emit(f"brx.idx {index}, {targets};")
        for label in labels:
            self.emit(f"{label}:")
            self.statements(depth + 1, False)
            if self.random.random() < 0.8:
                self.emit(f"bra {end};")
        self.emit(f"{end}:")

    def _goto(self, depth: int) -> None:
        """Blocks that jump into each other, so that the flow is irreducible; fuel makes it end."""
        fuel, empty = self.new("u32"), self.new("pred")
        labels = [self.label() for _ in range(3)]
        end = self.label()
        self.emit(f"mov.u32 {fuel}, {self.random.randint(3, 8)};")
        self.emit(f"@{self.reg('p')} bra {labels[self.random.randrange(3)]};")
        for label in labels:
            self.emit(f"{label}:")
            self._operation(guarded=False)
            self._operation(guarded=True)
            self.emit(f"sub.u32 {fuel}, {fuel}, 1;")
            self.emit(f"setp.eq.u32 {empty}, {fuel}, 0;")
            self.emit(f"@{empty} bra {end};")
            self.emit(f"@{self.reg('p')} bra {self.random.choice(labels)};")
        self.emit(f"{end}:")

    def _exit(self, depth: int) -> None:
        """Some threads leave; from here on warps have holes."""
        p = self.new("pred")
        t = self.new("b32")
        self.emit(f"and.b32 {t}, {self.reg('r')}, {self.random.choice([1, 3, 7])};")
        self.emit(f"setp.eq.u32 {p}, {t}, 0;")
        self.emit(f"@{p} {self.random.choice(['exit', 'ret'])};")
        self.full_warps = False
        self.exited = True

    def _uniform_if(self, depth: int) -> None:
        p, end = self.new("pred"), self.label()
        self.emit(f"setp.{self.random.choice(['lt', 'ge', 'eq'])}.u32 {p}, {self.n}, {self.random.randint(1, 4)};")
        self.emit(f"@{p} bra{self.random.choice(['', '.uni'])} {end};")
        self.statements(depth + 1, True)
        self.emit(f"{end}:")

    def _uniform_loop(self, depth: int) -> None:
        """Barriers and warp operations in a loop that all threads leave together."""
        counter, again, head = self.new("u32"), self.new("pred"), self.label()
        if self.random.random() < 0.5:
            self.emit(f"mov.u32 {counter}, {self.random.randint(1, 4)};")
        else:
            self.emit(f"and.b32 {counter}, {self.n}, 3;")
        self.emit(f"{head}:")
        self.in_uniform_loop = True
        if self.random.random() < 0.7:
            self._together(1)
        self.statements(depth + 1, True)
        self.in_uniform_loop = False
        self.emit(f"sub.u32 {counter}, {counter}, 1;")
        self.emit(f"setp.gt.s32 {again}, {counter}, 0;")
        self.emit(f"@{again} bra {head};")

    def _divergent_barrier_loop(self, depth: int) -> None:
        """Threads work for different times between barriers that all of them reach."""
        self._loop(2)
        self._barrier(depth)

    def _write_function(self, name: str) -> None:
        pick = self.random
        candidates: list[str] = [c for c in ("r", "l", "f", "d", "s") if c in self.pools]
        params = [pick.choice(candidates) for _ in range(pick.randint(1, 3))]
        result = pick.choice(candidates)
        recursive = pick.random() < 0.3
        device = Device(name, params, result, recursive)
        self.registers = Registers({"p": 2, "r": 3, **{c: 2 for c in [*params, result] if c != "r"}})
        self.in_kernel = False
        self.lines = []
        depth = self.new("u32")
        if recursive:
            self.emit(f"ld.param.u32 {depth}, [{name}_depth];")
        for cls, names in self.registers.pools.items():
            for k, register in enumerate(names):
                if cls == "p":
                    continue
                same = [i for i, c in enumerate(params) if c == cls]
                if k < len(same):
                    self.emit(f"ld.param.{DECLARED[cls]} {register}, [{name}_{same[k]}];")
                elif cls in ("f", "d"):
                    self.emit(f"mov.{DECLARED[cls]} {register}, {self._literal(DECLARED[cls])};")
                else:
                    self.emit(f"mov.{DECLARED[cls]} {register}, {pick.choice(EDGES) & 0x7FFF};")
        for register in self.registers.pools["p"]:
            self.emit(f"setp.gt.s32 {register}, {self.reg('r')}, {pick.choice([0, 5, 100])};")
        self.budget = pick.randint(3, 9)
        uses_local, self.uses_local = self.uses_local, False
        self.statements(1, False)
        self.uses_local = uses_local
        if recursive:
            self._recurse(device, depth)
        if pick.random() < 0.3:
            self.emit(f"st.param.{DECLARED[result]} [{name}_result], {self.reg(result)};")
            self.emit(f"@{self.reg('p')} ret;")
        self.emit(f"st.param.{DECLARED[result]} [{name}_result], {self.reg(result)};")
        formals = [f".param .{DECLARED[c]} {name}_{i}" for i, c in enumerate(params)]
        formals += [f".param .b32 {name}_depth"] if recursive else []
        self.function_text += [
            f".func (.param .{DECLARED[result]} {name}_result) {name} ({', '.join(formals)})",
            "{",
            *self.registers.declarations(),
            *self.lines,
            "ret;",
            "}",
        ]
        self.functions.append(device)

    def _recurse(self, device: Device, depth: str) -> None:
        p, end, less = self.new("pred"), self.label(), self.new("u32")
        self.emit(f"setp.eq.u32 {p}, {depth}, 0;")
        self.emit(f"@{p} bra {end};")
        self.emit(f"sub.u32 {less}, {depth}, 1;")
        self._emit_call(device, less, "")
        self.emit(f"{end}:")

    def _call(self) -> None:
        device = self.random.choice(self.functions)
        depth = ""
        if device.recursive:
            depth = self.new("b32")
            self.emit(f"and.b32 {depth}, {self.reg('r')}, 3;")
        self._emit_call(device, depth, self._target(device))

    def _target(self, device: Device) -> str:
        """ "" for a direct call, else a register with the function's address."""
        if self.random.random() < 0.7:
            return ""
        target = self.new("u64")
        self.emit(f"mov.u64 {target}, {device.name};")
        return target

    def _emit_call(self, device: Device, depth: str, target: str) -> None:
        declared = [DECLARED[c] for c in device.params] + (["b32"] if device.recursive else [])
        values = [self.reg(c) for c in device.params] + ([depth] if device.recursive else [])
        self.emit("{")
        for i, (kind, value) in enumerate(zip(declared, values, strict=True)):
            self.emit(f".param .{kind} argument{i};")
            self.emit(f"st.param.{kind} [argument{i}], {value};")
        result = DECLARED[device.result]
        self.emit(f".param .{result} result;")
        names = ", ".join([f"argument{i}" for i in range(len(values))])
        if target:
            prototype = f"prototype{self.label()}"
            formals = ", ".join([f".param .{kind} _" for kind in declared])
            self.emit(f"{prototype}: .callprototype (.param .{result} _) _ ({formals});")
            self.emit(f"call (result), {target}, ({names}), {prototype};")
        else:
            self.emit(f"call (result), {device.name}, ({names});")
        self.emit(f"ld.param.{result} {self.reg(device.result)}, [result];")
        self.emit("}")
