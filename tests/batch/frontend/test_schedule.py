"""Which turns run at once: the paper's example 2, and random loops against running turn by turn."""

import random

from drawloom.batch.frontend.schedule import IndexSet, Step, Touch, split_turns


def touch(subject: str, elements: list[int] | None) -> Touch:
    return Touch(subject, None if elements is None else tuple(frozenset([element]) for element in elements))


def test_example_2_of_the_paper() -> None:
    """b[0] is written in turns 0 and 1, b[1] in 2 and 3; turn 3 of the first statement reads b[0] after both."""
    a = Step((0, 1, 2, 3), touch("a", [0, 1, 2, 3]), (touch("a", [0, 1, 2, 3]), touch("b", [3, 2, 1, 0])))
    b = Step((0, 1, 2, 3), touch("b", [0, 0, 1, 1]), (touch("b", [0, 0, 1, 1]), touch("c", [0, 0, 1, 1])))
    assert split_turns([a, b], 4) == [
        IndexSet(0, (0, 1, 2)), IndexSet(1, (0, 2)), IndexSet(1, (1, 3)), IndexSet(0, (3,)),
    ]  # fmt: skip


def test_independent_turns_run_at_once() -> None:
    step = Step((0, 1, 2), touch("a", [0, 1, 2]), (touch("b", [2, 2, 2]),))
    assert split_turns([step], 3) == [IndexSet(0, (0, 1, 2))]


def test_a_recurrence_runs_turn_by_turn() -> None:
    step = Step((0, 1, 2), touch("a", [1, 2, 3]), (touch("a", [0, 1, 2]),))
    assert split_turns([step], 3) == [IndexSet(0, (0,)), IndexSet(0, (1,)), IndexSet(0, (2,))]


def test_reading_what_a_later_turn_writes_does_not_separate_turns() -> None:
    step = Step((0, 1, 2), touch("a", [0, 1, 2]), (touch("a", [1, 2, 3]),))
    assert split_turns([step], 3) == [IndexSet(0, (0, 1, 2))]


def test_what_is_not_known_keeps_its_order() -> None:
    step = Step((0, 1), touch("a", None), (touch("a", [0, 1]),))
    assert split_turns([step], 2) == [IndexSet(0, (0,)), IndexSet(0, (1,))]


def test_turns_in_which_a_statement_does_not_run_are_left_out() -> None:
    step = Step((1,), touch("a", [0, 0]), ())
    assert split_turns([step], 2) == [IndexSet(0, (1,))]


def test_random_loops_give_what_running_turn_by_turn_gives() -> None:
    for seed in range(2000):
        draw = random.Random(seed)
        turns, size = draw.randint(1, 6), draw.randint(1, 5)
        steps = []
        for _ in range(draw.randint(1, 4)):
            rows = [[draw.randrange(size) for _ in range(turns)] for _ in range(4)]
            runs = tuple(turn for turn in range(turns) if draw.random() < 0.9)
            subjects = [draw.choice("ab") for _ in rows]
            touches = [
                touch(subject, None if draw.random() < 0.1 else row)
                for subject, row in zip(subjects, rows, strict=True)
            ]
            steps.append((Step(runs, touches[0], tuple(touches[1:])), subjects, rows))
        expected = memory(size)
        for turn in range(turns):
            for number, (step, subjects, rows) in enumerate(steps):
                if turn in step.turns:
                    execute(expected, number, [turn], subjects, rows)
        found = memory(size)
        sets = split_turns([step for step, _, _ in steps], turns)
        assert sorted((s.statement, turn) for s in sets for turn in s.turns) == sorted(
            (number, turn) for number, (step, _, _) in enumerate(steps) for turn in step.turns
        )
        for number, chosen in sets:
            execute(found, number, list(chosen), steps[number][1], steps[number][2])
        assert found == expected, seed


def memory(size: int) -> dict[tuple[str, int], object]:
    return {(subject, element): (subject, element) for subject in "ab" for element in range(size)}


def execute(
    state: dict[tuple[str, int], object], number: int, turns: list[int], subjects: list[str], rows: list[list[int]]
) -> None:
    """Write hashes of what is read: a set reads everything before it writes."""
    values = [
        hash((number, turn, *[state[subject, row[turn]] for subject, row in zip(subjects[1:], rows[1:], strict=True)]))
        for turn in turns
    ]
    for turn, value in zip(turns, values, strict=True):
        state[subjects[0], rows[0][turn]] = value
