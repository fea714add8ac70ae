"""Video instructions against the manual's pseudo-code, for every target and for scalars."""

from __future__ import annotations

import pytest

from tests.cpu.jit import CASES
from tests.cpu.test_ops_integer import check
from tests.reference.video_manual import NAMES, spellings, video


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", NAMES)
def test_every_form_does_what_the_pseudo_code_does(name: str, target: str, lanes: int) -> None:
    few = spellings(name, 1)
    step = 1 if (target, lanes) == ("host", 32) else 5
    for text in few[::step]:
        check(text + "/3", target, lanes, lambda a, b, c, text=text: video(text, a, b, c))
