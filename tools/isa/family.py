"""Writes the table of a family from what was derived for its targets.

The 128-bit targets have much in common: what is found for one is tried on the next, and only what does not hold, and
the words of ptxas that remain, are derived afresh.
"""

from __future__ import annotations

import pickle
from pathlib import Path

from drawloom.errors import Error
from drawloom.sass.isa import TARGETS
from tools.isa import vendor
from tools.isa.derive import Derived, Log, borrow, derive
from tools.isa.probes import LEVELS, ROOT, emitted_words
from tools.isa.table import Table, file_text

TABLES = ROOT / "src" / "drawloom" / "sass" / "tables"
# Whose forms a target tries first; whose it tries last; and those for which ptxas is run at -O3 only.
COUSINS = {80: 90, 86: 80, 89: 80}
LENDERS = {75: 80}
ALIKE = (86, 89)


def derived_path(target: int) -> Path:
    """Where what was derived for a target is kept between runs."""
    return vendor.folder() / f"derived-sm_{target}.pickle"


def derive_targets(targets: list[int], log: Log) -> None:
    """Derives targets and rewrites the tables of their families from all that is derived."""
    for target in sorted(targets, key=lambda target: (target in ALIKE, -target)):
        derive_one(target, load(COUSINS[target]) if target in COUSINS else None, log)
    write_families(targets, log)


def extend_targets(targets: list[int], log: Log) -> None:
    """Derives what ptxas emits beyond the forms that were derived for these targets before."""
    for target in targets:
        derive_one(target, load(target), log)
    write_families(targets, log)


def derive_one(target: int, start: Derived | None, log: Log) -> None:
    derived = derive(target, emitted_words(target, LEVELS[:1] if target in ALIKE else LEVELS), log, start)
    if target in LENDERS:
        borrow(derived, load(LENDERS[target]), log)
    for line in derived.dropped:
        log(f"sm_{target}: dropped {line}")
    derived_path(target).write_bytes(pickle.dumps(derived))


def load(target: int) -> Derived:
    """What was derived for a target. Raises Error where nothing was."""
    path = derived_path(target)
    if not path.exists():
        raise Error(f"derive sm_{target} first")
    found = pickle.loads(path.read_bytes())
    assert isinstance(found, Derived)
    return found


def write_families(targets: list[int], log: Log) -> None:
    """Writes the tables of the families that these targets belong to."""
    for family in sorted({TARGETS[target] for target in targets}):
        members = [target for target in TARGETS if TARGETS[target] == family]
        table = Table(members)
        for target in members:
            if not derived_path(target).exists():
                log(f"{family}: sm_{target} has not been derived yet")
                continue
            derived = load(target)
            for solution, uses in derived.found:
                table.add(target, solution, uses)
            for value, name in derived.special.items():
                table.add_special(target, value, name)
        TABLES.mkdir(exist_ok=True)
        (TABLES / (family + ".json")).write_text(file_text(table.data()))
        log(f"{family}: {len(table.rows)} rows, {(TABLES / (family + '.json')).stat().st_size} bytes")
