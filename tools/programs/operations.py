"""Pure instructions: random spellings of the rows of the instruction table, on pool registers."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import FORMS, Form
from drawloom.ptx.isa_selectors import FIELDS, selected
from drawloom.ptx.types import TYPES
from tools.programs.program import DECLARED, EDGES, FLOAT_CLASSES, INTEGER_CLASSES
from tools.programs.writer import Writer

OPERATIONS: Final = (
    "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk dp4a dp2a "
    "testp copysign fma rcp sqrt set setp selp slct and or xor not cnot lop3 shf shl shr prmt cvt cvt.pack mov "
    "video video"
).split()
VIDEO: Final = sorted(FIELDS)
#: What has no exact result, or one that the manual leaves open.
EXCLUDED_MODIFIERS: Final = frozenset(("approx", "full", "oob", "cc"))

SPECIALS: Final = (
    "%tid.x %tid.y %ntid.x %ntid.y %ctaid.x %nctaid.x %laneid %lanemask_lt %lanemask_le %lanemask_gt %lanemask_ge "
    "%lanemask_eq"
).split()


def _orders(type: str, modifiers: list[str]) -> bool:
    """Whether ``type`` has the order that the comparison asks for (9.7.6): bits have none, lo..hs is for unsigned."""
    if not is_plain_integer(type):
        return True
    ordered = {"b": "eq ne", "s": "eq ne lt le gt ge", "u": "eq ne lt le gt ge lo ls hi hs"}[type[0]].split()
    compares = [m for m in modifiers if m not in ("and", "or", "xor", "ftz")]
    return all(m in ordered for m in compares)


def is_plain_integer(type: str) -> bool:
    return type[0] in "usb" and type[1:].isdigit()


class Operations(Writer):
    """Arithmetic, comparison, conversion, logic and moves."""

    def _operation(self, guarded: bool) -> None:
        for _ in range(60):
            name = self.random.choice(OPERATIONS)
            if name == "video":
                name = self.random.choice(VIDEO)
            form = self.random.choice(FORMS[name])
            text = self._instantiate(form)
            if text is not None:
                before, line = text
                for extra in before:
                    self.emit(extra)
                negation = self.random.choice(["", "!"])
                guard = f"@{negation}{self.reg('p')} " if guarded else ""
                self.emit(f"{guard}{line}")
                return

    def _instantiate(self, form: Form) -> tuple[list[str], str] | None:
        """``(instructions before, the instruction)`` for a random spelling of ``form``, None where pools lack."""
        pick = self.random
        if form.sm > self.sm or form.specific or form.version > (8, 6):
            return None
        types = [pick.choice(alternatives) for alternatives in form.types]
        modifiers: list[str] = []
        for alternatives, optional in zip(form.slots, form.optional, strict=True):
            if not optional or pick.random() < 0.4:
                modifiers.append(pick.choice(alternatives))
        if not EXCLUDED_MODIFIERS.isdisjoint(modifiers):
            return None
        if form.name in ("set", "setp") and not _orders(types[-1], modifiers):
            return None
        if form.name == "mov":
            return self._move(form, types)
        text = ".".join([form.name, *modifiers, *types])
        before: list[str] = []
        operands: list[str] = []
        immediates = 0
        words = form.operands[: pick.randint(form.required, len(form.operands))]
        for position, word in enumerate(words):
            operand = self._operand(form.name, word.rstrip("?"), types, position, before, immediates == 0)
            if operand is None:
                return None
            immediates += not operand.startswith(("%", "!", "_", "{"))
            operands.append(operand)
        if form.name in ("div", "rem") and types[0][0] in "us":
            # The quotient by zero is open; so is that of the smallest number by -1.
            width = types[0][1:]
            divisor = self.new(f"b{width}")
            value, positive = self.reg(INTEGER_CLASSES[int(width)]), (1 << int(width) - 1) - 1
            before.append(f"and.b{width} {divisor}, {value}, {positive};")
            before.append(f"or.b{width} {divisor}, {divisor}, 1;")
            operands[2] = divisor
        if form.name in FIELDS:
            operands = self._selected(form.name, modifiers, operands)
        if form.name == "copysign" or "xorsign" in modifiers:
            self._canonical_signs(types[0], operands, before)
        return before, f"{text} {', '.join(operands)};"

    def _selected(self, name: str, modifiers: list[str], operands: list[str]) -> list[str]:
        """Selectors and signs on some of the registers among the operands of a video instruction."""
        pick, fields = self.random, FIELDS[name]
        letter = "h" if fields == 2 else "b" if fields == 4 else pick.choice("bh")
        selectors = [""] * len(operands)
        merges = name != "vmad" and len(operands) == 4 and (fields > 1 or {"add", "min", "max"}.isdisjoint(modifiers))
        for position in range(0 if merges else 1, 3):
            if not operands[position].startswith("%") or pick.random() < 0.4:
                continue
            if fields == 1:
                digits = pick.choice("0123" if letter == "b" else "01")
            elif position:
                digits = "".join(pick.choices("01234567"[: 2 * fields], k=fields))
            else:
                digits = "".join([d for d in "3210"[-fields:] if pick.random() < 0.6]) or "0"
            selectors[position] = f".{letter}{digits}"
        if name == "vmad" and "po" not in modifiers and pick.random() < 0.5:
            position = pick.choice([k for k in (1, 2, 3) if operands[k].startswith("%")])
            selectors[position] = "-" + selectors[position]
        return [selected(operand, selector) for operand, selector in zip(operands, selectors, strict=True)]

    def _canonical_signs(self, type: str, operands: list[str], before: list[str]) -> None:
        """The sign of a NaN is not to be seen: sources whose sign matters become canonical first."""
        lines, self.lines = self.lines, before
        cls = FLOAT_CLASSES[type]
        for k in range(1, len(operands)):
            if operands[k].startswith("%"):
                bits = self.as_bits(cls, operands[k])
                operands[k] = self.new(DECLARED[cls])
                self.emit(f"mov.b{TYPES[DECLARED[cls]].bits} {operands[k]}, {bits};")
        self.lines = lines

    def _operand(
        self, name: str, word: str, types: list[str], position: int, before: list[str], may_be_immediate: bool
    ) -> str | None:
        pick = self.random
        destination = position == 0
        word = word.lstrip("=")
        if destination and ("|p" in word or "&p" in word):
            return self._pair(word)
        if word in ("p", "p_", "!p"):
            return ("!" if word == "!p" and pick.random() < 0.3 else "") + self.reg("p")
        if word == "i":
            return str(pick.randrange(256))
        if word == "c":
            kind = pick.random()
            if kind < 0.5 and may_be_immediate:
                return str(pick.randint(0, 40))
            if kind < 0.65 and may_be_immediate:
                return str(pick.randint(0, 255))
            return self.reg("r")
        if name == "fns" and position == 2:
            return str(pick.randrange(32))
        wider = word.endswith(">")
        word = word.rstrip(">")
        may_be_immediate = may_be_immediate and word != "r"
        type = self._word_type(word, types)
        if type is None:
            return None
        cls = self._class_of(type)
        if wider and type[0] in "us" and pick.random() < 0.3:
            cls = pick.choice([c for c in ("s", "r", "l") if TYPES[DECLARED[c]].bits >= TYPES[type].bits])
        if type == "tf32" or (name == "cvt" and word == "b32" and "tf32" in types):
            return None
        if cls not in self.registers.pools:
            return None
        if not destination and may_be_immediate and pick.random() < 0.15:
            literal = self._literal(type)
            if literal is not None:
                return literal
        return self.reg(cls)

    def _pair(self, word: str) -> str:
        """``a|p`` of a destination word such as ``p_|p``: a second predicate, with ``_`` for the first at times."""
        pick = self.random
        predicates = pick.sample(self.registers.pools["p"], 2)
        first = predicates[0] if word.startswith("p") else self.reg("r")
        if "|" in word and pick.random() < 0.5:
            return first
        return f"{'_' if '_' in word and pick.random() < 0.2 else first}|{predicates[1]}"

    def _word_type(self, word: str, types: list[str]) -> str | None:
        if word in ("t", "r"):
            return types[0]
        if word == "t1":
            return types[1]
        if word == "w":
            return f"{types[0][0]}{2 * TYPES[types[0]].bits}"
        if word == "acc":
            return "b32"
        return word if word in TYPES else None

    def _class_of(self, type: str) -> str:
        cls = FLOAT_CLASSES.get(type)
        if cls is not None:
            return cls
        return "r" if type in ("u16x2", "s16x2") else "p" if type == "pred" else INTEGER_CLASSES[TYPES[type].bits]

    def _literal(self, type: str) -> str | None:
        pick = self.random
        if type == "f32":
            return f"0f{pick.choice(EDGES):08X}"
        if type == "f64":
            return f"0d{pick.choice(EDGES):08X}{pick.choice(EDGES):08X}"
        if type in ("u8", "s8") or not is_plain_integer(type):
            return None
        bits = TYPES[type].bits
        value = pick.choice(EDGES) & (1 << bits) - 1
        if type[0] == "s" and value >> bits - 1:
            return str(value - (1 << bits))
        return str(value) if pick.random() < 0.5 else f"0x{value:X}"

    def _move(self, form: Form, types: list[str]) -> tuple[list[str], str] | None:
        """Packs, unpacks and copies; only of integers and predicates, or of one float to another."""
        pick = self.random
        pools = self.registers.pools
        kind = form.operands[-1]
        if kind == "pack" and types[0] in ("b32", "b64"):
            whole = "r" if types[0] == "b32" else "l"
            part, count = ("s", 2) if whole == "r" else pick.choice([("r", 2), ("s", 4)])
            if whole not in pools or part not in pools:
                return None
            if pick.random() < 0.5:
                return [], f"mov.{types[0]} {self.reg(whole)}, {{{', '.join([self.reg(part) for _ in range(count)])}}};"
            if len(pools[part]) < count:
                return None
            parts = pick.sample(pools[part], count)
            if pick.random() < 0.2:
                parts[pick.randrange(count)] = "_"
            return [], f"mov.{types[0]} {{{', '.join(parts)}}}, {self.reg(whole)};"
        if kind == "!p":
            return [], f"mov.pred {self.reg('p')}, {self.reg('p')};"
        if kind == "vec":
            return None
        if kind == "mov":
            cls = self._class_of(types[0])
            if cls not in pools:
                return None
            if cls == "r" and pick.random() < 0.3:
                return [], f"mov.u32 {self.reg('r')}, {pick.choice(SPECIALS)};"
            return [], f"mov.{types[0]} {self.reg(cls)}, {self.reg(cls)};"
        return None

    def _carry_chain(self) -> None:
        """Extended precision: the first writes the carry flag, the others use it, the last may leave it."""
        pick = self.random
        cls = pick.choice([c for c in ("r", "l") if c in self.registers.pools])
        type = pick.choice("us") + ("32" if cls == "r" else "64")

        def sources(count: int) -> str:
            return ", ".join([self.reg(cls) for _ in range(count)])

        kind = pick.choice(["add", "sub", "mad"])
        half = pick.choice(["lo", "hi"])
        first = f"mad.{half}.cc.{type} {self.reg(cls)}, {sources(3)};" if kind == "mad" else None
        self.emit(first or f"{kind}.cc.{type} {self.reg(cls)}, {sources(2)};")
        length = pick.randint(1, 3)
        for k in range(length):
            last = k == length - 1
            cc = "" if last and pick.random() < 0.6 else ".cc"
            step = pick.choice(["add", "sub", "mad"])
            if step == "mad":
                half = pick.choice(["lo", "hi"])
                self.emit(f"madc.{half}{cc}.{type} {self.reg(cls)}, {sources(3)};")
            else:
                self.emit(f"{step}c{cc}.{type} {self.reg(cls)}, {sources(2)};")

    def _cross_over(self) -> None:
        """Bits of a float, NaNs made canonical, into an integer register, or the other way."""
        pick = self.random
        floats = [c for c in ("f", "d", "h", "bh", "hh", "bhh", "ff") if c in self.registers.pools]
        if not floats:
            self._operation(guarded=False)
            return
        cls = pick.choice(floats)
        width = TYPES[DECLARED[cls]].bits
        integer = INTEGER_CLASSES[width]
        if integer not in self.registers.pools:
            return
        if pick.random() < 0.6:
            bits = self.as_bits(cls, self.reg(cls))
            self.emit(f"mov.b{width} {self.reg(integer)}, {bits};")
        else:
            self.emit(f"mov.b{width} {self.reg(cls)}, {self.reg(integer)};")
