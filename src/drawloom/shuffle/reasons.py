"""Why a load has no source: from what ended on the ways to it to a line for people.

Ending ::= load (written store | visible instruction | entered | left | guarded | joined)
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Statement
from drawloom.shuffle.facts import STORE, in_words
from drawloom.shuffle.state import ENTERED, GUARDED, JOINED, LEFT, WRITTEN, Ending
from drawloom.shuffle.trail import Trail

NOBODY: Final = "no other lane has loaded it"
#: What ended the value that an instruction had loaded.
_TEXTS: Final[dict[int, str]] = {
    ENTERED: "{0} has loaded it before a loop that may write to it",
    LEFT: "{0} has loaded it in a loop that is over",
    GUARDED: "{0} loads it under a guard that lanes do not share",
    JOINED: "{0} has loaded it on some of the ways only that come here",
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
        return _TEXTS[JOINED].format(_place(trail, found[0].sources[0].access.instruction))
    return "no distance in lanes to what has loaded it is shown for all ways that come here"


def _said(trail: Trail, ending: Ending) -> str:
    load = trail.accesses[ending.number]
    loaded = _place(trail, load.instruction)
    text = _TEXTS.get(ending.kind)
    if text is not None:
        return text.format(loaded)
    if ending.kind != WRITTEN:
        by = _place(trail, trail.function.body[ending.by])
        return f"{loaded} has loaded it, but what others have written may be visible since {by}"
    write = trail.accesses[ending.by]
    by = _place(trail, write.instruction)
    is_hinted = write.kind == STORE and trail.aliases.may_be_promised(write, load)
    hint = " (with --distinct-parameters it has not)" if is_hinted else ""
    return f"{loaded} has loaded it, but {by} may have written to it since{hint}"


def _place(trail: Trail, statement: Statement) -> str:
    return in_words(trail.module.position(statement.pos))
