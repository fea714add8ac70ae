"""What an operand word of the instruction table accepts: operands become short signatures, and a form judges those.

A signature says everything about an operand that the rules ask for, and nothing else, so that all instructions
with equal opcode and signatures share one verdict:

    u32 pred ...   a register of that type          !pred      a negated predicate
    #i #s #d       an integer, 32-bit, 64-bit float literal     _          the sink
    %tid.x         a special register               &global ...        a symbol of that space, &func, &entry, &?
    [u64 [&shared [#  an address: base register, symbol, absolute      {u32,u32}  a vector
    u32|pred       a pair                           label (..) a label, call arguments
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    FLOAT32,
    Address,
    Arguments,
    Immediate,
    Operand,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import ATOMIC, LOAD, STORE, Form, Opcode, Verdict
from drawloom.ptx.specials import find_special
from drawloom.ptx.types import B16, B32, B64, DECLARABLE, PRED, TYPES, U32, Type, integer_type

#: The space of a symbol whose declaration is not at hand; it is accepted wherever some symbol is.
UNKNOWN_SPACE: Final = "?"
_IMMEDIATES: Final = ("#i", "#s", "#d")
_BARRIERS: Final = 16
_VECTOR_BITS: Final = 128
WARP_SIZE: Final = 32
_GENERIC_SPACES: Final = frozenset("global shared local ?".split())
#: Words of 32-bit integers that are no number of the instruction's own type: no f16x2 register stands for them.
_STRICTLY_INTEGER: Final = frozenset("c b acc u32".split())
_MOV_SPACES: Final = frozenset("global const shared local param.entry param.in param.out param func entry ?".split())


def signature(operand: Operand, spaces: dict[str, str]) -> str:
    """The signature of ``operand``; ``spaces`` gives the space of each symbol, "func" and "entry" for functions."""
    if isinstance(operand, Symbol):
        return _symbol_signature(spaces.get(operand.name, UNKNOWN_SPACE), "&")
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return _symbol_signature(spaces.get(operand.base.name, UNKNOWN_SPACE), "[&")
    if isinstance(operand, Vector):
        return "{" + ",".join([signature(e, spaces) for e in operand.elements]) + "}"
    if isinstance(operand, Arguments):
        return "(" + ",".join([signature(e, spaces) for e in operand.elements]) + ")"
    return operand.signature


#: The signatures of symbols, and of addresses with one, by what stands before the space and that: few, made once.
_symbol_signatures: Final[dict[str, dict[str, str]]] = {"&": {}, "[&": {}}


def _symbol_signature(space: str, prefix: str) -> str:
    known = _symbol_signatures[prefix]
    found = known.get(space)
    if found is None:
        found = known[space] = prefix + space
    return found


def describe_signature(sig: str) -> str:
    """A signature in words, for error messages."""
    if not sig:
        return "a symbol"
    if sig in TYPES:
        return f"a .{sig} register"
    if sig in _IMMEDIATES:
        return {"#i": "an integer", "#s": "a 32-bit float literal", "#d": "a 64-bit float literal"}[sig]
    if sig == "_":
        return "the sink '_'"
    if sig == "label":
        return "a label"
    if "|" in sig:
        return " and ".join([describe_signature(s) for s in sig.split("|")])
    first = sig[0]
    if first == "[":
        return "an address" if sig == "[#" else f"an address in {describe_signature(sig[1:])}"
    if first == "{":
        return "the vector {" + ", ".join(["." + s if s in TYPES else s for s in sig[1:-1].split(",")]) + "}"
    if first == "!":
        return f"'!' and a .{sig[1:]} register"
    if first == "%":
        return f"the special register {sig}"
    if first == "&":
        return "a function" if sig in ("&func", "&entry") else f"a .{sig[1:].split('.', maxsplit=1)[0]} variable"
    return "call arguments"


def judge(opcode: Opcode, signatures: tuple[str, ...], address_size: int = 64) -> Verdict:
    """The verdict on ``opcode`` with operands of these signatures; kept, so the work is done once for each."""
    verdicts = opcode.verdicts
    key = signatures if address_size == 64 else (*signatures, "32")
    known = verdicts.get(key)
    if known is None:
        known = _judge(opcode, signatures, address_size)
        if len(verdicts) > _MAX_VERDICTS:
            verdicts.clear()
        verdicts[key] = known
    return known


_MAX_VERDICTS: Final = 4096


def _judge(opcode: Opcode, signatures: tuple[str, ...], address_size: int) -> Verdict:
    accepted: list[Form] = []
    furthest = -2
    best: Form | None = None
    for form in opcode.forms:
        wrong = _first_wrong(form, opcode, signatures, address_size)
        if wrong == len(signatures):
            accepted.append(form)
        elif wrong > furthest:
            furthest = wrong
            best = form
    if accepted:
        return Verdict(accepted)
    if best is None:
        raise ValueError(f"opcode {opcode.text} has no form")
    if furthest < 0:
        count = len(best.operands)
        wanted = f"{best.required}" if best.required == count else f"{best.required} to {count}"
        return Verdict([], -1, f"'{opcode.text}' has {_count(len(signatures))}", f"{wanted}")
    return Verdict(
        [],
        furthest,
        f"operand {furthest + 1} of '{opcode.text}' is {describe_signature(signatures[furthest])}",
        describe_word(best.operands[furthest], opcode, address_size),
    )


def _count(number: int) -> str:
    return "1 operand" if number == 1 else f"{number} operands"


def _first_wrong(form: Form, opcode: Opcode, signatures: tuple[str, ...], address_size: int) -> int:
    """The index of the first operand that ``form`` refuses, their number when none, -1 when there are too many
    or too few."""
    count = len(signatures)
    if count > len(form.operands) or count < form.required:
        return -1
    if count < len(form.operands) and not form.operands[-1].endswith("?"):
        # an optional operand in the middle (a barrier's thread count) was left out
        words = [w for w in form.operands if not w.endswith("?")]
    else:
        words = form.operands
    for index in range(count):
        if not fits(words[index], signatures[index], opcode, address_size):
            return index
    return _joint_rule(form, opcode, words, signatures)


def _joint_rule(form: Form, opcode: Opcode, words: list[str], signatures: tuple[str, ...]) -> int:
    """Rules about several operands at once: packing moves join a scalar and a vector."""
    count = len(signatures)
    if words and words[0] == "=pack":
        vectors = [s.startswith("{") for s in signatures]
        if vectors[0] == vectors[1] and vectors[0]:
            return 1
    if opcode.vector > 1 and opcode.effect in (LOAD, STORE) and words[0].strip("=") != "vec":
        total = opcode.vector * opcode.types[0].bits
        if total > _VECTOR_BITS and not _is_wide(form):
            return 0 if opcode.effect == LOAD else 1
    return count


def _is_wide(form: Form) -> bool:
    """Whether the form is one of the 256-bit loads and stores, which have rows of their own."""
    return ["v8"] in form.slots or ["v4"] in form.slots


def word_type(word: str, opcode: Opcode) -> Type | None:
    """The type that an operand word stands for, or None for words that have none (addresses, labels ...)."""
    stem = word.strip("=!?>").removesuffix("|p").removesuffix("&p").rstrip("_")
    types = opcode.types
    if stem in ("t", "r", "v", "mov", "pack", "vec", "special", "cvta"):
        return types[0] if types else None
    if stem == "t1":
        return types[1]
    if stem == "w":
        return integer_type(types[0].kind, types[0].bits * 2)
    if stem == "acc":
        return integer_type("s" if types[0].is_signed or types[1].is_signed else "u", 32)
    if stem == "p":
        return PRED
    if stem in ("c", "b"):
        return U32
    return TYPES.get(stem)


def register_type(type: Type) -> Type:
    """The type of register that holds a value of ``type``: itself where registers of it may be declared."""
    if type.bits == 8 or type.name in ("bf16", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"):
        return B16
    if type.name in ("bf16x2", "u16x2", "s16x2", "tf32"):
        return B32
    if type.name == "f32x2":
        return B64
    return type


def _register_fits(held: Type, type: Type, wider: bool) -> bool:
    """Whether a register of type ``held`` may stand where the instruction wants ``type``."""
    if held is PRED or type is PRED:
        return held is type
    if held.bits != type.bits and not (wider and held.bits > type.bits):
        return False
    if held.kind == "b" or type.kind == "b":
        return True
    if held.name == "f16x2" and type.is_integer:
        return True
    if type.is_float or held.is_float:
        return held is type
    return type.lanes == held.lanes


def _literal_fits(sig: str, type: Type) -> bool:
    if type.lanes > 1:
        return False
    if sig == "#i":
        return type.kind != "f"
    if type.name in ("f32", "f64"):
        return True
    return (sig == "#s" and type.name == "b32") or (sig == "#d" and type.name == "b64")


def fits(word: str, sig: str, opcode: Opcode, address_size: int) -> bool:
    """Whether an operand of signature ``sig`` may stand where the table has ``word``."""
    destination = word.startswith("=")
    stem = word.strip("=?")
    if stem.endswith(("|p", "&p")):
        first, bar, second = sig.partition("|")
        if not bar and stem[-2] == "&":
            return False
        if bar:
            return second in ("pred", "_") and fits("=" + stem[:-2], first, opcode, address_size)
        return fits("=" + stem[:-2], first, opcode, address_size)
    if stem == "m":
        return _address_fits(sig, opcode, opcode.space, address_size)
    if stem == "ms":
        return _shared_address_fits(sig, opcode, address_size)
    if stem == "mg":
        return _address_fits(sig, opcode, "global", address_size)
    if stem == "_":
        return sig == "_"
    if stem in ("v", "v>", "v_"):
        return _vector_fits(sig, opcode, destination, stem)
    if stem == "label" or stem == "l":
        return sig == "label"
    if stem == "i":
        return sig == "#i"
    if stem in ("results", "arguments"):
        return sig.startswith("(")
    if stem == "callee":
        return sig in ("&func", "&entry", "&?") or sig in _pointer_types(address_size)
    if stem == "!p":
        return sig in ("pred", "!pred", "#i")
    if stem == "pack":
        return _pack_fits(sig, opcode.types[0], destination)
    if stem == "vec":
        return _vector_fits(sig, opcode, destination, stem)
    if stem == "special":
        special = find_special(sig)
        return special is not None and special.is_vector and "." not in sig
    if stem == "mov":
        return _mov_fits(sig, opcode.types[0], address_size)
    if stem == "cvta":
        return opcode.types[0].bits == address_size and _cvta_fits(sig, opcode)
    if stem == "addr":
        return sig in ("b64", "u64", "s64", "b32", "u32", "s32", "#i")
    if stem == "hint":
        return opcode.has("L2::cache_hint") and sig in ("b64", "u64", "s64", "#i")
    if stem == "r":
        return sig in TYPES and _register_fits(TYPES[sig], opcode.types[0], False)
    if sig == "f16x2" and stem.rstrip("_") in _STRICTLY_INTEGER:
        return False
    wider = stem.endswith(">")
    type = word_type(stem, opcode)
    if type is None:
        return False
    return _scalar_fits(sig, type, wider, destination, stem.endswith("_"))


def _pointer_types(address_size: int) -> tuple[str, str, str]:
    return ("b64", "u64", "s64") if address_size == 64 else ("b32", "u32", "s32")


def _scalar_fits(sig: str, type: Type, wider: bool, destination: bool, sink: bool = False) -> bool:
    held = TYPES.get(sig)
    if held is not None:
        return _register_fits(held, type, wider)
    if destination:
        return sink and sig == "_"
    if sig in _IMMEDIATES:
        return _literal_fits(sig, type)
    return False


def _shared_address_fits(sig: str, opcode: Opcode, address_size: int) -> bool:
    """Whether an address may be one in shared memory: generic where the opcode names no space."""
    generic = not opcode.space and (opcode.name == "mbarrier" or opcode.operation == "mbarrier")
    return _address_fits(sig, opcode, "" if generic and not sig.startswith("[&") else "shared", address_size)


def _address_fits(sig: str, opcode: Opcode, space: str, address_size: int) -> bool:
    if not sig.startswith("["):
        return False
    base = sig[1:]
    if base == "#":
        return space == "local"
    if base.startswith("&"):
        if base[1:] in ("param.entry", "param.in") and opcode.effect in (STORE, ATOMIC):
            return False
        found = base[1:].split(".")[0]
        if found == UNKNOWN_SPACE:
            return True
        return found in _GENERIC_SPACES if not space else found == space.split(":", maxsplit=1)[0]
    held = TYPES[base]
    if held.kind not in ("b", "u", "s"):
        return False
    if space == "param" and opcode.effect == STORE:
        return False
    if space in ("", "global") and held.bits > 16:
        return held.bits == address_size
    return held.bits <= 64


def _vector_fits(sig: str, opcode: Opcode, destination: bool, stem: str) -> bool:
    type = opcode.types[0]
    wider = stem.endswith(">")
    if not sig.startswith("{"):
        if sig == "_":
            return stem.endswith("_")
        return opcode.vector == 1 and _scalar_fits(sig, type, wider, destination)
    elements = sig[1:-1].split(",")
    if len(elements) != opcode.vector or _mixed(elements) or elements == ["_"] * opcode.vector:
        return False
    return all(_scalar_fits(element, type, wider, destination, destination) for element in elements)


def _mixed(elements: list[str]) -> bool:
    """Whether a vector holds registers of different widths."""
    widths = {TYPES[element].bits for element in elements if element in TYPES}
    return len(widths) > 1


def _pack_fits(sig: str, type: Type, destination: bool) -> bool:
    if not sig.startswith("{"):
        if sig in ("%clock64", "%globaltimer"):
            return type.bits == 64 and not destination
        return _scalar_fits(sig, type, False, destination)
    elements = sig[1:-1].split(",")
    if len(elements) not in (1, 2, 4) or type.bits % len(elements):
        return False
    bits = type.bits // len(elements)
    if bits < 8:
        return False
    element_type = integer_type("b", bits)
    return all(_scalar_fits(element, element_type, False, destination, destination) for element in elements)


def _mov_fits(sig: str, type: Type, address_size: int) -> bool:
    if sig.startswith("%"):
        special = find_special(sig)
        if special is None or type.is_float or (special.is_vector and "." not in sig):
            return False
        return special.type.bits == type.bits or type.bits in special.narrow_bits
    if sig.startswith("&"):
        if type.is_float or sig[1:] not in _MOV_SPACES:
            return False
        return type.bits in (16, address_size) or sig not in ("&global", "&func", "&entry")
    return _scalar_fits(sig, type, False, False)


def _cvta_fits(sig: str, opcode: Opcode) -> bool:
    if sig.startswith("&"):
        found = sig[1:].split(".", maxsplit=1)[0]
        return not opcode.has("to") and found in (opcode.space.split(":")[0], UNKNOWN_SPACE)
    return _scalar_fits(sig, opcode.types[0], False, False)


#: What `alloca` aligns to at most.
_MOST_ALIGNED: Final = 1 << 23


def wrong_value(opcode: Opcode, operands: list[Operand]) -> Verdict | None:
    """What is wrong with a literal of a ``bounds`` opcode, or None."""
    name = opcode.name
    if name in ("bar", "barrier"):
        return _wrong_barrier(opcode, operands)
    if name in ("bfe", "bfi"):
        return _wrong_field(opcode, operands)
    if name == "cp.async":
        return _wrong_copy(opcode, operands)
    if name == "mbarrier":
        return _wrong_count(opcode, operands)
    last = len(operands) - 1
    literal = operands[last]
    if not isinstance(literal, Immediate):
        return None
    if name.startswith("createpolicy"):
        return _wrong_policy(opcode, operands, literal)
    if name == "pmevent":
        good = 0 <= literal.value < (1 << 16 if opcode.has("mask") else 16)
        expected = "a 16-bit mask of events" if opcode.has("mask") else "an event from 0 to 15"
    elif name == "setmaxnreg":
        good = 24 <= literal.value <= 256 and literal.value % 8 == 0
        expected = "a multiple of 8 from 24 to 256"
    elif name == "alloca":
        good = last < 2 or (0 < literal.value <= _MOST_ALIGNED and literal.value & (literal.value - 1) == 0)
        expected = f"a power of two up to {_MOST_ALIGNED}"
    else:
        good = literal.value == 128
        expected = "128"
    return None if good else Verdict([], last, f"'{opcode.text}' is given {literal.value}", expected)


def _wrong_copy(opcode: Opcode, operands: list[Operand]) -> Verdict | None:
    """Copies are of 4, 8 or 16 bytes, past the first cache of 16, and read no more than that (9.7.9.25.3.1)."""
    if opcode.operation == "wait_group":
        groups = operands[0]
        if isinstance(groups, Immediate) and groups.value < 0:
            return Verdict([], 0, f"'{opcode.text}' is given {groups.value}", "a number of groups, 0 or more")
        return None
    size = operands[2] if len(operands) > 2 else None
    if not isinstance(size, Immediate):
        return None
    if size.value not in ((16,) if opcode.has("cg") else (4, 8, 16)):
        expected = "16" if opcode.has("cg") else "4, 8 or 16"
        return Verdict([], 2, f"'{opcode.text}' copies {size.value} bytes", expected)
    has_source_size = len(operands) == (5 if opcode.has("L2::cache_hint") else 4)
    read = operands[3] if has_source_size else None
    if isinstance(read, Immediate) and not opcode.has("L2::cache_hint") and not 0 <= read.value <= size.value:
        return Verdict([], 3, f"'{opcode.text}' reads {read.value} of {size.value} bytes", f"0 to {size.value}")
    return None


def _wrong_count(opcode: Opcode, operands: list[Operand]) -> Verdict | None:
    """Arrivals count for at least one; a parity is 0 or 1 (PTX ISA 9.0 section 9.7.13.15)."""
    literal = operands[2] if len(operands) > 2 else None
    if not isinstance(literal, Immediate):
        return None
    if opcode.operation in ("arrive", "arrive_drop") and not opcode.has("expect_tx") and literal.value < 1:
        return Verdict([], 2, f"'{opcode.text}' counts {literal.value} arrivals", "1 or more")
    if opcode.has("parity") and literal.value not in (0, 1):
        return Verdict([], 2, f"'{opcode.text}' is given {literal.value}", "0 or 1")
    return None


def _wrong_policy(opcode: Opcode, operands: list[Operand], literal: Immediate) -> Verdict | None:
    """A fraction is above 0 and at most 1; the primary range is no larger than the whole (section 9.7.9)."""
    last = len(operands) - 1
    if opcode.name == "createpolicy.fractional":
        one = 0x3F800000 if literal.kind == FLOAT32 else 0x3FF0000000000000  # positive floats order as their patterns
        if 0 < literal.value <= one:
            return None
        return Verdict([], last, f"'{opcode.text}' is given the fraction {literal!r}", "above 0.0, at most 1.0")
    primary = operands[last - 1]
    if not isinstance(primary, Immediate) or primary.value <= literal.value:
        return None
    return Verdict([], last - 1, f"'{opcode.text}' is given {primary!r} bytes of {literal!r}", "at most all bytes")


def _wrong_field(opcode: Opcode, operands: list[Operand]) -> Verdict | None:
    """Position and length of a bit field are bytes (PTX ISA 9.0 sections 9.7.1.19 and 9.7.1.20)."""
    for index in range(len(operands) - 2, len(operands)):
        literal = operands[index]
        if isinstance(literal, Immediate) and not 0 <= literal.value <= 255:
            return Verdict(
                [], index, f"'{opcode.text}' is given {literal.value}", "a bit position or length from 0 to 255"
            )
    return None


def _wrong_barrier(opcode: Opcode, operands: list[Operand]) -> Verdict | None:
    """Barriers are numbered 0 to 15; thread counts are multiples of the warp size (PTX ISA 9.0 section 9.7.13.1)."""
    first = 1 if opcode.has_destination else 0
    number = operands[first]
    if isinstance(number, Immediate) and not 0 <= number.value < _BARRIERS:
        message = f"'{opcode.text}' names barrier {number.value}"
        return Verdict([], first, message, f"a barrier from 0 to {_BARRIERS - 1}")
    has_count = len(operands) > first + (2 if opcode.action == "red" else 1)
    threads = operands[first + 1] if has_count else None
    if isinstance(threads, Immediate):
        least = WARP_SIZE if opcode.action == "arrive" else 0
        if threads.value % WARP_SIZE or threads.value < least:
            message = f"'{opcode.text}' counts {threads.value} threads"
            return Verdict([], first + 1, message, f"a multiple of {WARP_SIZE}")
    return None


def describe_word(word: str, opcode: Opcode, address_size: int) -> str:
    """What an operand word accepts, in words, for error messages."""
    stem = word.strip("=?>")
    destination = word.startswith("=")
    type = word_type(stem, opcode)
    if stem in ("m", "ms", "mg"):
        found = {"m": opcode.space, "ms": "shared", "mg": "global"}[stem]
        space = f" in .{found} space" if found else ""
        return f"an address{space} with a {address_size}-bit base register or a variable"
    if stem == "l":
        return "a label"
    if stem == "i":
        return "an integer constant"
    if stem == "special":
        return "a special register with components, such as %tid"
    if stem in ("p", "!p"):
        return "a .pred register" + (" (or '!' and one)" if stem == "!p" and not destination else "")
    if type is None:
        return {"addr": f"a .u{address_size} register", "hint": "a .b64 register"}.get(stem, stem)
    kinds = _register_words(type, word.endswith(">"))
    if stem in ("v", "vec") and opcode.vector > 1:
        return f"a vector of {opcode.vector}: each {kinds}"
    if destination:
        return kinds
    literal = "" if type is PRED or stem == "r" else _literal_words(type)
    return kinds + (f" or {literal}" if literal else "")


def _register_words(type: Type, wider: bool) -> str:
    if type is PRED:
        return "a .pred register"
    held = [TYPES[n] for n in TYPES if n in DECLARABLE]
    names = [f".{t.name}" for t in held if t.bits == type.bits and _register_fits(t, type, False)]
    return f"a {' or '.join(names)} register" + (" or a wider one" if wider else "")


def _literal_words(type: Type) -> str:
    if type.is_integer:
        return "an integer"
    if type.is_float:
        return "a float literal" if type.name in ("f32", "f64") else ""
    return "a literal"
