"""Solves one form: from sample words of one key to the bit ranges of its operands and modifiers.

Every free bit of a sample is flipped, alone and in pairs. A bit that changes one number belongs to that operand; a
bit that changes text in a gap is a modifier. Two modifier bits belong to one field when their effects do not simply
add up. Each field is then run through all its values, which gives its enumeration.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator
from dataclasses import dataclass, field

from drawloom.sass.floats import FLOAT_KINDS, float_text
from drawloom.sass.syntax import NEUTRAL, TO_LABELS
from tools.isa.explore import free_bits
from tools.isa.oracle import PLAIN_CONTROL, REUSE_BITS, Meaning

Asking = Generator[list[int], list[Meaning], "Solution | None"]
NUMBER_KINDS = ("R", "UR", "P", "UP", "B", "SB", "N", "F", "M", "S")
UNIFORM_BASE = "[ R + UR + N ]"
LARGEST_FIELD = 13  # bits of one modifier field that are enumerated together
TOKEN = re.compile(r"\.[A-Za-z0-9_]+|[-|~!]|[A-Za-z0-9_]+")


@dataclass
class OperandField:
    """Where one number stands: pieces (low bit of the word, width, low bit of the number)."""

    kind: str
    pieces: list[tuple[int, int, int]]
    signed: bool = False
    inverted: bool = False
    no_neutral: bool = False  # RZ or PT is not printed here: it makes another form
    constant: int = 0  # the value where there are no bits


@dataclass
class ModifierField:
    """Bits of a modifier and what each value prints in each gap that it touches."""

    bits: list[int]
    gaps: list[int]
    values: dict[int, tuple[str, ...]]


@dataclass
class Solution:
    key: str
    base_word: int
    fixed_mask: int
    operands: list[OperandField]
    fields: list[ModifierField]
    template: list[list[str | int]]  # per gap: literal text or the index of a field
    guard: str
    reuse: dict[int, int]  # reuse bit 0..3 -> place of the number it marks
    emitted: bool
    notes: list[str] = field(default_factory=list)


def tokens(gap: str) -> list[str]:
    return TOKEN.findall(gap)


def common_prefix(left: list[str], right: list[str]) -> int:
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


def change(old: list[str], new: list[str]) -> tuple[int, int, list[str]]:
    """(start, end, replacement): what turns `old` into `new`, as small as possible."""
    start = common_prefix(old, new)
    tail = common_prefix(old[start:][::-1], new[start:][::-1])
    return start, len(old) - tail, new[start : len(new) - tail]


def adds_up(old: str, left: str, right: str, both: str) -> bool:
    """Whether the change of both bits in one gap is the changes of each, side by side."""
    if left == old or right == old:
        return both == (right if left == old else left)
    base, seen = tokens(old), tokens(both)
    a, b = change(base, tokens(left)), change(base, tokens(right))
    first, second = (a, b) if a[:2] <= b[:2] else (b, a)
    if first[1] > second[0] or (first[:2] == second[:2] and first[0] != first[1]):
        return False

    def merged(one: tuple[int, int, list[str]], two: tuple[int, int, list[str]]) -> list[str]:
        return base[: one[0]] + one[2] + base[one[1] : two[0]] + two[2] + base[two[1] :]

    if seen == merged(first, second):
        return True
    return first[:2] == second[:2] and seen == merged(second, first)


class Groups:
    """Union-find over bits."""

    def __init__(self) -> None:
        self.parent: dict[int, int] = {}

    def find(self, bit: int) -> int:
        self.parent.setdefault(bit, bit)
        while self.parent[bit] != bit:
            bit = self.parent[bit]
        return bit

    def join(self, left: int, right: int) -> None:
        a, b = sorted((self.find(left), self.find(right)))
        self.parent[b] = a

    def sets(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for bit in sorted(self.parent):
            found.setdefault(self.find(bit), []).append(bit)
        return [found[root] for root in sorted(found)]


def spread(bits: list[int], value: int) -> int:
    """The number `value` with its bits moved to these places of a word."""
    return sum(1 << bit for place, bit in enumerate(bits) if value >> place & 1)


def gather(bits: list[int], word: int) -> int:
    return sum(1 << place for place, bit in enumerate(bits) if word >> bit & 1)


def solve(key: str, samples: list[int], counts: dict[int, int], target: int, joined: list[tuple[int, int]]) -> Asking:
    """Questioner that ends with the solution of this key. Bits in `joined` are taken to depend on each other."""
    bits = free_bits(target)
    word = samples[0]
    base, effects = yield from look(key, word, bits)
    if base.key != key:
        return None
    word, base, effects = yield from away_from_zero(key, word, base, effects, bits)
    unsaid = unsaid_base(key, base, effects)
    bits = [bit for bit in bits if bit not in unsaid]
    effects = {bit: meaning for bit, meaning in effects.items() if bit not in unsaid}
    structure = key.split(" ")[2:]
    notes: list[str] = []
    operand_bits: dict[int, list[int]] = {}
    for bit, meaning in effects.items():
        changed = changed_places(meaning, base)
        if len({(base.values[place], meaning.values[place]) for place in changed}) == 1:
            for place in changed:  # more than one where an operand is printed twice
                operand_bits.setdefault(place, []).append(bit)
        elif changed:
            notes.append(f"{key}: bit {bit} changes {base.text} to {meaning.text}")
    used = {bit for found in operand_bits.values() for bit in found}
    if " IMAD.SHL " in key:  # printed so where the factor is a power of two: no flip stays in the form
        used |= set(range(32, 64))
    others = [bit for bit in bits if bit not in used]
    groups, varying = yield from group_bits(key, word, base, effects, others)
    # The part of a register that is converted prints by the size of its type: `.B2` of a byte is `.H1` of a half.
    if target == 61 and key.split(" ")[1] in ("I2F", "I2I") and {10, 41} <= set(groups.parent):
        groups.join(10, 41)
    if target == 61 and key.split(" ")[1] == "ATOMS" and {28, 52} <= set(groups.parent):
        groups.join(28, 52)  # a compare-and-swap has no type
    for left, right in joined:
        groups.join(left, right)
    operands: list[OperandField] = []
    for place, kind in enumerate(kind for kind in structure if kind in NUMBER_KINDS):
        made = yield from operand_field(key, word, base, effects, place, kind, operand_bits.get(place, []), notes)
        operands.append(made)
    solution = yield from modifier_fields(key, word, base, groups, notes)
    if solution is None:
        return None
    fields, template = solution
    guard_word = word & ~(0xF000 if target >= 75 else 0xF0000)
    guards = yield [guard_word]
    reuse: dict[int, int] = {}
    if target >= 75:
        asked = [word | PLAIN_CONTROL | 1 << bit for bit in REUSE_BITS]
    else:  # beside the word, see vendor.image
        asked = [word | (0x7E1 | 1 << bit - 105) << 64 for bit in REUSE_BITS]
    for index, meaning in enumerate((yield asked)):
        if meaning.key == key and len(meaning.reuse) == 1:
            reuse[index] = meaning.reuse[0]
    changing = sum(1 << bit for bit in used | varying)
    for operand in operands:
        for low, width, _ in operand.pieces:
            changing |= ((1 << width) - 1) << low
    free = sum(1 << bit for bit in free_bits(target))
    return Solution(
        key, word, free & ~changing, operands, fields, template, guards[0].guard, reuse, bool(counts), notes
    )


def look(
    key: str, word: int, bits: list[int]
) -> Generator[list[int], list[Meaning], tuple[Meaning, dict[int, Meaning]]]:
    """The meaning of a word, and of those of its neighbours that have the same key."""
    found = yield [word, *(word ^ (1 << bit) for bit in bits)]
    return found[0], {bit: meaning for bit, meaning in zip(bits, found[1:]) if meaning.key == key}


def away_from_zero(
    key: str, word: int, base: Meaning, effects: dict[int, Meaning], bits: list[int]
) -> Generator[list[int], list[Meaning], tuple[int, Meaning, dict[int, Meaning]]]:
    """Moves to a word from which every operand bit can be flipped within the form.

    A bare offset of an address with RZ prints without its sign; a predicate that becomes PT may not print at all.
    """
    structure = key.split(" ")[2:]
    place = -1
    for index, kind in enumerate(structure):
        if kind not in NUMBER_KINDS:
            continue
        place += 1
        value = base.values[place]
        if not base.key or not isinstance(value, int):
            continue
        own = [bit for bit, meaning in effects.items() if changed_places(meaning, base) == [place]]
        neutral = NEUTRAL.get(kind)
        if kind == "SB" and value:  # there are six: only from the first one each bit leads to another
            seen, around = yield from look(key, word & ~sum(1 << bit for bit in own), bits)
            if seen.key == key:
                word, base, effects = word & ~sum(1 << bit for bit in own), seen, around
            continue
        if neutral is None:  # a number with few bits set may vanish, or print otherwise, when one is flipped
            clear = [bit for bit in own if not word >> bit & 1][:2]
            if kind in "NM" and value > 0 and value.bit_count() < 3 and clear:
                moved = word | sum(1 << bit for bit in clear)
                seen, around = yield from look(key, moved, bits)
                if seen.key == key:
                    word, base, effects = moved, seen, around
            continue
        based = kind == "R" and structure[index - 1] == "["
        one_off = len(own) == neutral.bit_length() - 1 and (value ^ neutral).bit_count() == 1
        if own and (one_off or (based and value == neutral)):
            moved = word ^ 1 << own[0]
            seen, around = yield from look(key, moved, bits)
            if seen.key == key:
                word, base, effects = moved, seen, around
    return word, base, effects


def unsaid_base(key: str, base: Meaning, effects: dict[int, Meaning]) -> set[int]:
    """The bits of a base register RZ beside a uniform one, where sm_75 prints neither RZ nor the size of the address
    (`[UR4]`, else `[R2.64+UR4]`): they are fixed."""
    structure = key.split(" ")[2:]
    if UNIFORM_BASE not in key:
        return set()
    index = next(
        i for i, token in enumerate(structure) if token == "[" and structure[i + 1 : i + 4] == ["R", "+", "UR"]
    )
    place = sum(token in NUMBER_KINDS for token in structure[:index])
    if base.values[place] != NEUTRAL["R"] or base.gaps[index + 2]:
        return set()
    return {bit for bit, m in effects.items() if m.gaps[index + 2] and m.values[place] != NEUTRAL["R"]}


def changed_places(meaning: Meaning, base: Meaning) -> list[int]:
    """The numbers in which two meanings differ, where their texts differ in nothing else."""
    if meaning.gaps != base.gaps:
        return []
    return [place for place, pair in enumerate(zip(meaning.values, base.values)) if pair[0] != pair[1]]


def group_bits(
    key: str, word: int, base: Meaning, effects: dict[int, Meaning], others: list[int]
) -> Generator[list[int], list[Meaning], tuple[Groups, set[int]]]:
    """Groups of modifier bits that depend on each other, and all bits that vary within the form."""
    groups = Groups()
    varying = {bit for bit in others if bit in effects}
    modifiers = {bit for bit in varying if effects[bit].gaps != base.gaps}
    for bit in modifiers:
        groups.find(bit)
    # Two bits that show nothing alone are left alone: as a rule they belong to an operand that is not there.
    pairs = [(a, b) for a, b in itertools.combinations(others, 2) if not {a, b} <= varying - modifiers]
    answers = yield [word ^ (1 << a) ^ (1 << b) for a, b in pairs]
    for (a, b), both in zip(pairs, answers):
        if both.key != key:
            if a in modifiers and b in modifiers:
                groups.join(a, b)
            continue
        if a in varying and b in varying:
            left, right = effects[a].gaps, effects[b].gaps
            if not all(adds_up(*four) for four in zip(base.gaps, left, right, both.gaps)):
                groups.join(a, b)
        elif a in effects or b in effects:
            alone = a if a in effects else b
            other = b if alone == a else a
            groups.join(alone, other)
        else:
            groups.join(a, b)
    varying.update(groups.parent)
    return groups, varying


def operand_field(
    key: str,
    word: int,
    base: Meaning,
    effects: dict[int, Meaning],
    place: int,
    kind: str,
    bits: list[int],
    notes: list[str],
) -> Generator[list[int], list[Meaning], OperandField]:
    """The bits of one number: their weights, whether the top one is a sign, and what sort of number it is."""
    value = base.values[place]
    name = key.split(" ")[1]
    if kind == "F":
        return (yield from float_field(key, word, place, sorted(bits), notes))
    if kind == "S":
        low = min(bits) if bits else 0
        return OperandField("S", [(low, len(bits), 0)])
    assert isinstance(value, int)
    if name == "IMAD.SHL" and kind == "N":
        return OperandField("I2", [(32, 32, 0)])
    kind = {"N": "L" if name in TO_LABELS and place == len(base.values) - 1 else "I"}.get(kind, kind)
    weights: dict[int, int] = {}
    signs: list[bool] = []
    for bit in sorted(bits):
        other = effects[bit].values[place]
        assert isinstance(other, int)
        difference = (other - value) * (-1 if word >> bit & 1 else 1)
        size = abs(difference)
        if size & (size - 1) or size.bit_length() - 1 in weights:
            notes.append(f"{name}: number {place}: bit {bit} changes it by {difference}")
            continue
        weights[size.bit_length() - 1] = bit
        signs.append(difference < 0)
    inverted = bool(signs) and all(signs) and kind in NEUTRAL
    sign = not inverted and any(signs)
    if sign and signs.count(True) > 1:
        notes.append(f"{name}: number {place}: more than one sign bit in {weights}")
    pieces: list[tuple[int, int, int]] = []
    for weight in sorted(weights):
        bit = weights[weight]
        if pieces and pieces[-1][0] + pieces[-1][1] == bit and pieces[-1][2] + pieces[-1][1] == weight:
            low, width, start = pieces[-1]
            pieces[-1] = (low, width + 1, start)
        else:
            pieces.append((bit, 1, weight))
    made = OperandField(kind, pieces, sign, inverted, False, value if not pieces else 0)
    if kind in NEUTRAL and pieces:
        mask = sum(((1 << width) - 1) << low for low, width, _ in pieces)
        answers = yield [word & ~mask if inverted else word | mask]
        seen = answers[0]
        made.no_neutral = seen.key != key or seen.gaps != base.gaps or seen.values[place] != NEUTRAL[kind]
    return made


def float_field(
    key: str, word: int, place: int, bits: list[int], notes: list[str]
) -> Generator[list[int], list[Meaning], OperandField]:
    """Finds the type of a floating-point immediate by trying patterns of each."""
    if not bits:
        return OperandField("F32", [])
    # A pattern that is a NaN or an infinity hides bits: the field is one run, with perhaps a sign apart.
    low = min(bits)
    run = [bit for bit in bits if bit - low < 32]
    width = max(run) - low + 1
    lone = [bit for bit in bits if bit not in run]
    if width == 18 and lone:
        low, width = low - 1, 19
    places = list(range(low, low + width)) + lone
    mask = sum(1 << bit for bit in places)
    patterns = [1, 0x3C00, 0x3F80, 0x1FC00, 0x3FF00, 0x12345, 0x3F800000, 0x3FF00000, 0xC0490FDB, 0x40080000, 0x2A1B]
    patterns = [pattern & ((1 << len(places)) - 1) for pattern in patterns]
    answers = yield [word & ~mask | spread(places, pattern) for pattern in patterns]
    for kind, (size, _) in FLOAT_KINDS.items():
        shift = size - len(places)
        if shift < 0:
            continue
        if all(
            meaning.key == key and str(meaning.values[place]).strip() == float_text(kind, pattern << shift).strip()
            for pattern, meaning in zip(patterns, answers)
        ):
            pieces = [(low, width, shift)] + [(bit, 1, shift + width) for bit in lone]
            return OperandField(kind, pieces)
    notes.append(f"{key}: number {place}: no float type fits {places}: {[m.text for m in answers][:5]}")
    return OperandField("F32", [(low, width, 32 - len(places))])


def modifier_fields(
    key: str, word: int, base: Meaning, groups: Groups, notes: list[str]
) -> Generator[list[int], list[Meaning], tuple[list[ModifierField], list[list[str | int]]] | None]:
    """Enumerates every group and lays the fields out in the gaps; joins groups that cannot be laid out."""
    for _ in range(40):
        sets = groups.sets()
        if any(len(found) > LARGEST_FIELD for found in sets):
            notes.append(f"{key}: field of {max(map(len, sets))} bits")
            return None
        asked = [(index, value) for index, found in enumerate(sets) for value in range(1 << len(found))]
        masks = [sum(1 << bit for bit in found) for found in sets]
        answers = yield [word & ~masks[index] | spread(sets[index], value) for index, value in asked]
        meanings: list[dict[int, Meaning]] = [{} for _ in sets]
        for (index, value), meaning in zip(asked, answers):
            if meaning.key == key:
                meanings[index][value] = meaning
        segments: list[list[tuple[int, int, int]]] = [[] for _ in base.gaps]
        fields = [ModifierField(found, [], {}) for found in sets]
        for index, found in enumerate(meanings):
            gaps = [g for g in range(len(base.gaps)) if any(m.gaps[g] != base.gaps[g] for m in found.values())]
            fields[index].gaps = gaps
            pieces: dict[int, list[str]] = {value: [] for value in found}
            for gap in gaps:
                start, end = extent(base.gaps[gap], [m.gaps[gap] for m in found.values()])
                segments[gap].append((start, end, index))
                after = len(tokens(base.gaps[gap])) - end
                for value, meaning in found.items():
                    seen = tokens(meaning.gaps[gap])
                    pieces[value].append("".join(seen[start : len(seen) - after]))
            fields[index].values = {value: tuple(pieces[value]) for value in found}
        conflict = overlap(segments)
        if conflict is None:
            conflict = yield from order_ties(word, sets, fields, segments)
        if conflict is None:
            return fields, layout(base, segments)
        groups.join(sets[conflict[0]][0], sets[conflict[1]][0])
    return None


def extent(old: str, news: list[str]) -> tuple[int, int]:
    """The part of a gap's tokens that some value of a field replaces."""
    base = tokens(old)
    start, tail = len(base), len(base)
    for new in news:
        seen = tokens(new)
        start = min(start, common_prefix(base, seen))
    for new in news:
        seen = tokens(new)
        tail = min(tail, common_prefix(base[start:][::-1], seen[start:][::-1]))
    return start, len(base) - tail


def overlap(segments: list[list[tuple[int, int, int]]]) -> tuple[int, int] | None:
    for gap in segments:
        gap.sort()
        for left, right in itertools.pairwise(gap):
            if left[1] > right[0] or (left[:2] == right[:2] and left[0] != left[1]):
                return left[2], right[2]
    return None


def order_ties(
    word: int, sets: list[list[int]], fields: list[ModifierField], segments: list[list[tuple[int, int, int]]]
) -> Generator[list[int], list[Meaning], tuple[int, int] | None]:
    """Orders fields that insert at the same place of a gap, by asking for two of them at once."""
    for gap, found in enumerate(segments):
        for _, tied_iter in itertools.groupby(found, key=lambda segment: segment[:2]):
            tied = list(tied_iter)
            if len(tied) < 2:
                continue
            before: dict[tuple[int, int], bool] = {}
            for (_, _, a), (_, _, b) in itertools.combinations(tied, 2):
                tries = []
                for value_a, pieces_a in fields[a].values.items():
                    for value_b, pieces_b in fields[b].values.items():
                        text_a, text_b = pieces_a[fields[a].gaps.index(gap)], pieces_b[fields[b].gaps.index(gap)]
                        if text_a and text_b:
                            tries.append((value_a, value_b, text_a, text_b))
                tries = tries[:60]
                masks = sum(1 << bit for bit in sets[a] + sets[b])
                answers = yield [word & ~masks | spread(sets[a], t[0]) | spread(sets[b], t[1]) for t in tries]
                seen: set[bool] = set()
                for (_, _, text_a, text_b), meaning in zip(tries, answers):
                    if meaning.key and text_a != text_b:
                        both = "".join(tokens(meaning.gaps[gap]))
                        first, second = text_a + text_b in both, text_b + text_a in both
                        if first != second:
                            seen.add(first)
                if len(seen) == 2:
                    return a, b
                before[a, b] = seen != {False}
            ordered = sorted(
                tied,
                key=lambda s: sum(
                    before[o[2], s[2]] if (o[2], s[2]) in before else not before[s[2], o[2]] for o in tied if o is not s
                ),
            )
            at = found.index(tied[0])
            found[at : at + len(tied)] = ordered
    return None


def layout(base: Meaning, segments: list[list[tuple[int, int, int]]]) -> list[list[str | int]]:
    """Per gap: the literal text between the fields, and the fields by index."""
    template: list[list[str | int]] = []
    for gap, found in zip(base.gaps, segments):
        words = tokens(gap)
        items: list[str | int] = []
        position = 0
        for start, end, index in found:
            if start > position:
                items.append("".join(words[position:start]))
            items.append(index)
            position = max(end, position)
        if position < len(words):
            items.append("".join(words[position:]))
        template.append(items)
    return template
