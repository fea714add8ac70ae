"""Derives the forms of one target: explore, solve, check against nvdisasm, and throw out what does not hold.

A form that ptxas uses and that misprints loses the modifier values that make it misprint; a form that only bit flips
found is dropped. What stays is what the tests assert: whatever we encode, nvdisasm prints.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from drawloom.sass.form import Form
from drawloom.sass.isa import Target
from tools.isa import verify
from tools.isa.explore import Samples, explore, without_control
from tools.isa.oracle import Oracle
from tools.isa.solve import Solution, solve
from tools.isa.table import Table, row_of

ISLAND_ROUNDS = 6
CHECK_ROUNDS = 10
PATIENCE = 5  # rounds after which values that ptxas uses are cut too, and forms that print wrong all the same dropped
WORDS_PER_FORM = 32

Log = Callable[[str], None]


@dataclass
class Derived:
    """The forms of one target, with how often ptxas used the words of each, and its special registers."""

    target: int
    found: list[tuple[Solution, dict[int, int]]] = field(default_factory=list)
    special: dict[int, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)

    def table(self) -> Table:
        made = Table([self.target])
        for solution, counts in self.found:
            made.add(self.target, solution, counts)
        for value, name in self.special.items():
            made.add_special(self.target, value, name)
        return made

    def as_target(self) -> Target:
        return Target(self.target, json.loads(json.dumps(self.table().data())))


def derive(number: int, emitted: Counter[int], log: Log, cousin: Derived | None = None) -> Derived:
    """All that can be found out about one target from the words that ptxas emits for it.

    The forms of a `cousin` that hold for this target too need not be solved again.
    """
    oracle = Oracle(number)
    derived = Derived(number)
    bare: Counter[int] = Counter()
    for word, count in emitted.items():
        bare[without_control(word, number)] += count
    words = sorted(bare)
    words += moves(words, oracle)
    if cousin is not None:
        derived.special = dict(cousin.special)
        derived.found = sift(cousin, number, log)
        derived.found = recounted(derived, oracle, bare)
        target = derived.as_target()
        asked = zip(words, oracle.ask(words))
        words = [word for word, meaning in asked if not meaning.key or not matched(target, meaning.key, word)]
    samples = explore(oracle, words)
    log(f"sm_{number}: {len(words)} words of ptxas, {len(samples.from_ptxas)} forms, {len(samples.words)} with flips")
    solve_all(derived, oracle, samples, bare, log)
    derived.special |= special_registers(oracle, derived)
    clean(derived, oracle, log)
    return derived


def moves(words: list[int], oracle: Oracle) -> list[int]:
    """IMAD by a number, made a product with 1 or of RZ: it is printed as a move then, which is several flips away."""
    products = [
        word
        for word, meaning in zip(words, oracle.ask(words))
        if meaning.key.split(" ", 1)[-1] in ("IMAD _ R , R , N , R", "IMAD.SHL _ R , R , N , R")
    ]
    by_one = [word & ~(0xFFFFFFFF << 32) & ~(0xFF << 64) | 1 << 32 | 255 << 64 for word in products]
    of_zero = [word & ~(0xFFFFFFFF << 32) | 0x12345 << 32 | 255 << 24 for word in products]
    return sorted({*by_one, *of_zero} - set(words))


def solve_all(derived: Derived, oracle: Oracle, samples: Samples, bare: Counter[int], log: Log) -> None:
    """Solves every key of the samples, again where some of its words are of another form."""
    uncovered = candidates(samples, oracle, bare)
    for _ in range(ISLAND_ROUNDS):
        if derived.found:
            target = derived.as_target()
            uncovered = {
                key: left
                for key, words in uncovered.items()
                if (left := [word for word in words if not matched(target, key, word)])
            }
        keys = sorted(uncovered)
        if not keys:
            return
        log(f"sm_{derived.target}: {len(derived.found)} forms, {len(keys)} to solve")
        counts = [{w: bare[w] for w in samples.from_ptxas.get(key, {}) if w in bare} for key in keys]
        questioners = [solve(key, uncovered[key][:1], uses, derived.target, []) for key, uses in zip(keys, counts)]
        for key, solution, uses in zip(keys, oracle.run(questioners), counts):
            if solution is None:
                del uncovered[key]
            else:
                derived.found.append((solution, own_words(solution, uses)))


def sift(cousin: Derived, number: int, log: Log) -> list[tuple[Solution, dict[int, int]]]:
    """The forms of another target, without what nvdisasm prints otherwise or not at all for this one."""
    made = Derived(number, copy.deepcopy(cousin.found), dict(cousin.special))
    target = made.as_target()
    by_name = {solution_name(s, c, number): s for s, c in made.found}
    trials = []
    blamed = []
    for form in target.all_forms():
        first = sum(modifier.put(next(iter(modifier.values))) for modifier in form.fields)
        for index, modifier in enumerate(form.fields):
            for value in modifier.values:
                word = form.word | (first & ~modifier.put(-1)) | modifier.put(value)
                trials.append((form, verify.with_operands(form, word)))
                blamed.append((name_of(form), index, value))
    wrong = verify.faults(target, trials)
    for (name, index, value), bad in zip(blamed, wrong):
        if bad and len(by_name[name].fields[index].values) > 1:
            by_name[name].fields[index].values.pop(value)
    bad_names: set[str] = set()
    for turn in range(2):
        report = verify.check_forms(made.as_target(), WORDS_PER_FORM, turn)
        bad_names |= {name_of(m.form) for m in report.mismatches} | {name_of(form) for form in report.silent}
    kept = [(s, c) for s, c in made.found if solution_name(s, c, number) not in bad_names]
    log(f"sm_{number}: {len(kept)} of {len(cousin.found)} forms of sm_{cousin.target} hold")
    return kept


def borrow(derived: Derived, other: Derived, log: Log) -> None:
    """Adds those of another target's forms that this one has too, though neither ptxas nor flips showed them."""

    def name(solution: Solution) -> tuple[str, list[str]]:
        return solution.key, row_of(solution, {}, derived.target)[1][1]

    own = [name(solution) for solution, _ in derived.found]
    left = [(solution, counts) for solution, counts in other.found if name(solution) not in own]
    for solution, _ in sift(Derived(other.target, left, other.special), derived.target, log):
        solution.emitted = False
        derived.found.append((solution, {}))


def recounted(derived: Derived, oracle: Oracle, bare: Counter[int]) -> list[tuple[Solution, dict[int, int]]]:
    """The solutions with the uses that this target's ptxas makes of them."""
    by_key: dict[str, list[int]] = {}
    words = sorted(bare)
    for word, meaning in zip(words, oracle.ask(words)):
        by_key.setdefault(meaning.key, []).append(word)
    counted = []
    for solution, _ in derived.found:
        uses = own_words(solution, {word: bare[word] for word in by_key.get(solution.key, [])})
        solution.emitted = bool(uses)
        counted.append((solution, uses))
    return counted


def candidates(samples: Samples, oracle: Oracle, bare: Counter[int]) -> dict[str, list[int]]:
    """For each key the words to solve it from: what ptxas uses, most often first, then what flips found."""
    words: dict[str, list[int]] = {}
    for key in sorted(samples.words):
        used = sorted(samples.from_ptxas.get(key, {}), key=lambda word: (-bare[word], word))
        words[key] = used + [word for word in samples.words[key] if word not in set(used)]
    return words


def own_words(solution: Solution, counts: dict[int, int]) -> dict[int, int]:
    """Those of ptxas's words that have the form's fixed bits."""
    fixed, mask = solution.base_word & solution.fixed_mask, solution.fixed_mask
    return {word: count for word, count in counts.items() if word & mask == fixed}


def matched(target: Target, key: str, word: int) -> bool:
    bare = word & target.word_mask
    return any(form.matches(bare) for form in target.by_key(key.split(" ", 1)[1]))


def special_registers(oracle: Oracle, derived: Derived) -> dict[int, str]:
    names: dict[int, str] = {}
    for solution, _ in derived.found:
        for operand in solution.operands:
            if operand.kind != "S" or not operand.pieces:
                continue
            low, width, _ = operand.pieces[0]
            mask = ((1 << width) - 1) << low
            words = [solution.base_word & ~mask | value << low for value in range(1 << width)]
            for value, meaning in enumerate(oracle.ask(words)):
                if meaning.key == solution.key:
                    names.setdefault(value, str(meaning.values[-1]))
    return dict(sorted(names.items()))


def clean(derived: Derived, oracle: Oracle, log: Log) -> None:
    """Checks random words of every form until no word misprints, cutting and dropping what does."""
    for turn in range(CHECK_ROUNDS):
        target = derived.as_target()
        report = verify.check_forms(target, WORDS_PER_FORM, turn)
        log(
            f"sm_{derived.target}: {report.asked} words checked, {report.illegal} illegal, "
            f"{len(report.mismatches)} misprinted, {len(report.silent)} forms not printed at all"
        )
        wrong: dict[str, list[verify.Mismatch]] = {}
        for mismatch in report.mismatches:
            wrong.setdefault(name_of(mismatch.form), []).append(mismatch)
        silent = {name_of(form) for form in report.silent}
        if not wrong and not silent:
            return
        kept = []
        for solution, counts in derived.found:
            name = solution_name(solution, counts, derived.target)
            if name in silent or (name in wrong and not counts):
                derived.dropped.append(f"{solution.key}: {wrong[name][0].ours if name in wrong else 'illegal'}")
                continue
            if name in wrong and not cut(target, solution, wrong[name], counts, turn >= PATIENCE):
                derived.dropped.append(f"{solution.key}: {wrong[name][0].ours} for {wrong[name][0].theirs}")
                if turn >= PATIENCE:
                    continue
            kept.append((solution, counts))
        derived.found = kept


def name_of(form: Form) -> str:
    return f"{form.base} {' '.join(form.structure)} {form.word:x} {form.mask:x}"


def solution_name(solution: Solution, counts: dict[int, int], target: int) -> str:
    base, row = row_of(solution, counts, target)
    return f"{base} {row[0]} {int(row[2], 16):x} {int(row[3], 16):x}"


def cut(
    target: Target, solution: Solution, wrong: list[verify.Mismatch], counts: dict[int, int], used_too: bool
) -> bool:
    """Takes from an emitted form the modifier values without which its words print right; False if there are none.

    Values that ptxas uses are spared unless `used_too`: the constant of a conversion, say, is of its source's type.
    """
    form = wrong[0].form
    trials: list[tuple[Form, int]] = []
    blamed: list[tuple[int, int]] = []
    first = [next(iter(modifier.values)) for modifier in form.fields]
    for mismatch in wrong:
        for index, modifier in enumerate(form.fields):
            value = modifier.get(mismatch.word)
            if value == first[index]:
                continue
            word = mismatch.word
            for other, default in zip(form.fields, first):
                if other is not modifier:
                    word = word & ~other.put(-1) | other.put(default)
            trials.append((form, word))
            blamed.append((index, value))
    guilty: set[tuple[int, int]] = set()
    report = verify.check_words(target, trials)
    bad = {mismatch.word for mismatch in report.mismatches}
    guilty = {blame for blame, (_, word) in zip(blamed, trials) if word in bad}
    if not guilty:  # only together: the rarest value that takes part goes
        uses: Counter[tuple[int, int]] = Counter()
        for index, modifier in enumerate(form.fields):
            for word, count in counts.items():
                uses[index, modifier.get(word)] += count
        involved = sorted(set(blamed), key=lambda blame: (uses[blame], blame))
        guilty = set(involved[:1])
    removed = False
    used = {(i, modifier.get(word)) for i, modifier in enumerate(form.fields) for word in counts}
    for index, value in guilty:
        values = solution.fields[index].values
        if ((index, value) not in used or (used_too and len(values) > 1)) and values.pop(value, None) is not None:
            removed = True
    return removed
