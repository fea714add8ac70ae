"""The layout that is chosen by measuring."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.compile import LEAST_MEASURED
from drawloom.batch.kernels import parse_ready, read_text
from drawloom.batch.tuning.choose import Choice, layouts_to_measure
from drawloom.batch.tuning.measure import TURNS, WARM_UPS, Candidate, find_fastest
from drawloom.errors import DataError
from tests.batch.cases import copied, make_arguments

pytest.importorskip("pycparser")

GROUPS = 2 * LEAST_MEASURED


def test_candidates_run_in_turns_from_the_same_arguments() -> None:
    log: list[str] = []

    def candidate(name: str, work: int) -> Candidate:
        def run() -> None:
            log.append(name)
            sum(range(work))

        return Candidate(Choice(name, 1, False, 0.0), lambda: log.append("restore"), run)

    assert find_fastest([candidate("slow", 200_000), candidate("fast", 10)]).order == "fast"
    assert log == ["restore", "slow", "restore", "fast"] * (WARM_UPS + TURNS)


def test_layouts_near_the_lowest_estimate_are_measured() -> None:
    choices = layouts_to_measure(batch.lower(parse_ready("ldus", wg_size=8)), 8, 512, 32)
    assert choices == sorted(choices, key=lambda choice: choice.cycles)
    assert {choice.order for choice in choices} == {"interleaved"}
    assert {choice.depth_first for choice in choices} == {False, True}


@pytest.mark.parametrize("name", ["ldus", "gemm"])
def test_the_first_call_measures_on_copies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ldus` changes its matrices in place: each run starts from the same ones, and the call changes its array once."""
    measured: list[Choice] = []

    def spy(candidates: list[Candidate]) -> Choice:
        measured.extend(candidate.choice for candidate in candidates)
        for candidate in candidates:
            candidate.prepare()
            candidate.run()
        return candidates[-1].choice

    monkeypatch.setattr("drawloom.batch.compile.find_fastest", spy)
    monkeypatch.setattr("drawloom.batch.compile.stored", lambda make, *asked: make())
    compiled = batch.kernel(read_text(name), wg_size=4, defines={"real": "double"}, measure=True)
    arguments = make_arguments(name, 4, GROUPS, np.float64, seed=3)
    expected = copied(arguments)
    batch.kernel(read_text(name), wg_size=4, defines={"real": "double"})(*expected.values())
    for _ in range(2):
        found = copied(arguments)
        compiled(*found.values())
        for key, value in expected.items():
            np.testing.assert_array_equal(found[key], value)
    assert len(measured) == len(set(measured)) > 1
    assert (compiled.order, compiled.pack, compiled.depth_first, compiled.cycles) == measured[-1][:4]


def test_a_measured_layout_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DRAWLOOM_CACHE", raising=False)
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))

    def call() -> Any:
        compiled = batch.kernel(read_text("gema"), wg_size=4, defines={"real": "float"}, measure=True)
        compiled(*make_arguments("gema", 4, GROUPS, np.float32, seed=3).values())
        return compiled.order, compiled.pack, compiled.depth_first

    first = call()
    monkeypatch.setattr("drawloom.batch.compile.find_fastest", lambda candidates: pytest.fail("measured again"))
    assert call() == first


def test_few_groups_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawloom.batch.compile.find_fastest", lambda candidates: pytest.fail("measured"))
    compiled = batch.kernel(read_text("gema"), wg_size=4, defines={"real": "float"}, measure=True)
    compiled(*make_arguments("gema", 4, LEAST_MEASURED - 1, np.float32, seed=3).values())


@pytest.mark.parametrize("option", [{"pack": 2}, {"order": "rows"}, {"device": "cpu"}, {"target": "ve"}])
def test_what_leaves_nothing_to_measure_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="measure chooses order and pack"):
        batch.kernel(read_text("gema"), wg_size=4, defines={"real": "float"}, measure=True, **option)
