"""Writes the table of a family from what was derived for its targets.

sm_86 and sm_89 have the instructions of sm_80 as far as PTX reaches them: they take the forms of sm_80 that nvdisasm
prints alike for them, and are then checked with the words that ptxas emits for them.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

from drawloom.sass.isa import TARGETS, Target
from tools.isa import vendor, verify
from tools.isa.derive import Derived, Log, derive, name_of, solution_name
from tools.isa.probes import LEVELS, ROOT, emitted_words
from tools.isa.table import Table, file_text

TABLES = ROOT / "src" / "drawloom" / "sass" / "tables"
COUSINS = {86: 80, 89: 80}


def derived_path(target: int) -> Path:
    """Where what was derived for a target is kept between runs."""
    return vendor.folder() / f"derived-sm_{target}.pickle"


def derive_targets(targets: list[int], log: Log) -> None:
    """Derives targets and rewrites the tables of their families from all that is derived."""
    for target in targets:
        if target in COUSINS:
            continue
        derived = derive(target, emitted_words(target), log)
        for line in derived.dropped:
            log(f"sm_{target}: dropped {line}")
        derived_path(target).write_bytes(pickle.dumps(derived))
    for family in sorted({TARGETS[target] for target in targets}):
        members = [target for target in TARGETS if TARGETS[target] == family]
        table = Table(members)
        for target in members:
            path = derived_path(COUSINS.get(target, target))
            if not path.exists():
                log(f"{family}: sm_{target} has not been derived yet")
                continue
            add(table, pickle.loads(path.read_bytes()), target, log)
        TABLES.mkdir(exist_ok=True)
        (TABLES / (family + ".json")).write_text(file_text(table.data()))
        log(f"{family}: {len(table.rows)} rows, {(TABLES / (family + '.json')).stat().st_size} bytes")


def add(table: Table, derived: Derived, target: int, log: Log) -> None:
    """Adds a target's forms: its own, or those of its cousin that hold for it too."""
    found = derived.found
    if derived.target != target:
        counts = emitted_words(target, LEVELS[:1])
        wrong = set()
        for turn in range(3):
            own = Table([target])
            for solution, uses in found:
                own.add(target, solution, uses)
            for value, name in derived.special.items():
                own.add_special(target, value, name)
            report = verify.check_forms(Target(target, json.loads(json.dumps(own.data()))), 32, turn)
            wrong |= {name_of(mismatch.form) for mismatch in report.mismatches}
            wrong |= {name_of(form) for form in report.silent}
        found = [(s, c) for s, c in found if solution_name(s, c, derived.target) not in wrong]
        log(f"sm_{target}: {len(found)} of {len(derived.found)} forms of sm_{derived.target}, {len(counts)} words")
    for solution, uses in found:
        table.add(target, solution, uses)
    for value, name in derived.special.items():
        table.add_special(target, value, name)
