"""The collector rests while something is compiled, and is as it was behind it."""

import gc
import threading
from collections.abc import Iterator

import pytest

from drawloom import ptx
from drawloom.errors import ParseError
from drawloom.ptx.collecting import uncollected


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


def test_it_rests_within_however_deep() -> None:
    assert uncollected(lambda: (gc.isenabled(), uncollected(gc.isenabled), gc.isenabled())) == (False, False, False)
    assert gc.isenabled()


def test_it_is_on_again_behind_errors() -> None:
    with pytest.raises(ParseError):
        ptx.parse(".version 8.0 nonsense")
    assert gc.isenabled()


def test_it_stays_off_where_somebody_had_it_off() -> None:
    gc.disable()
    assert not uncollected(gc.isenabled)
    assert not gc.isenabled()


def test_it_rests_until_the_last_thread_is_done() -> None:
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        end.wait(10)

    other = threading.Thread(target=lambda: uncollected(work))
    other.start()
    assert begun.wait(10)
    assert uncollected(gc.isenabled) is False
    assert not gc.isenabled()
    end.set()
    other.join(10)
    assert gc.isenabled()
