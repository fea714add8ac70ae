"""Why a load has no source: from what ended on the ways to it to a line for people.

Ending ::= load (written store | visible instruction | entered | left | guarded | joined)
"""

from __future__ import annotations

from typing import Final

from drawloom.shuffle.facts import STORE
from drawloom.shuffle.state import ENTERED, GUARDED, JOINED, LEFT, WRITTEN, Ending
from drawloom.shuffle.trail import Trail

NOBODY: Final = "no other lane has loaded it"
#: What ended the value that line {0} had loaded.
_TEXTS: Final[dict[int, str]] = {
    ENTERED: "line {0} has loaded it before a loop that may write to it",
    LEFT: "line {0} has loaded it in a loop that is over",
    GUARDED: "line {0} loads it under a guard that lanes do not share",
    JOINED: "line {0} has loaded it on some of the ways only that come here",
}


def reason(trail: Trail, at: int) -> str:
    """Why the load ``function.body[at]``, which was looked at, has no candidate."""
    instances = trail.instances.get(at, [])
    for instance in instances:
        if not instance.sources and instance.ending is not None:
            return _said(trail, instance.ending)
    found = [one for one in instances if one.sources]
    if not found:
        return NOBODY
    if len(found) < len(instances):
        line = trail.module.line(found[0].sources[0].access.instruction)
        return _TEXTS[JOINED].format(line)
    return "no distance in lanes to what has loaded it is shown for all ways that come here"


def _said(trail: Trail, ending: Ending) -> str:
    load = trail.accesses[ending.number]
    line = trail.module.line(load.instruction)
    text = _TEXTS.get(ending.kind)
    if text is not None:
        return text.format(line)
    if ending.kind != WRITTEN:
        by = trail.module.line(trail.function.body[ending.by])
        return f"line {line} has loaded it, but what others have written may be visible since line {by}"
    write = trail.accesses[ending.by]
    by = trail.module.line(write.instruction)
    is_hinted = write.kind == STORE and trail.aliases.may_be_promised(write, load)
    hint = " (with --distinct-parameters it has not)" if is_hinted else ""
    return f"line {line} has loaded it, but line {by} may have written to it since{hint}"
