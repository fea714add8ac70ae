"""Items for the tests of tools/suites/report.py: each is named after what becomes of it."""

import os
import time
from collections.abc import Iterator

from tools.suites.report import Outcome


def check(item: str) -> Iterator[Outcome | str]:
    """Yield an outcome, then do what the item is named after."""
    yield Outcome(f"{item}:1", "same")
    yield f"{item}:2"
    if item == "hang":
        time.sleep(600)
    elif item == "die":
        os.write(2, b"last words")
        os.abort()
    elif item == "raise":
        raise ValueError("what it says")
    yield Outcome(f"{item}:2", "refused", "no such thing\nin line 7")
