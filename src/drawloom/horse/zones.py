"""Moments of universal time and those that a time zone's clocks show, by the time zone database of the system.

@local_moment(moment, zone)      what the zone's clocks show at a moment of universal time
@universal_moment(moment, zone)  when they show it: the last time that they do, and of a moment that they leave out as
                                 if they had not been put forward yet
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.evaluate import exact
from drawloom.horse.types import DAY, TIMESTAMP
from drawloom.horse.values import Array, Value, as_vector, integers, only_text

_HOUR: Final = 3_600_000_000
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_EPOCH: Final = datetime.datetime(1970, 1, 1)
#: The moments that Python has, a day from either end, and the 400 years after which the calendar repeats.
_FIRST: Final = (datetime.datetime(1, 1, 2) - _EPOCH) // _MICROSECOND
_LAST: Final = (datetime.datetime(9999, 12, 30) - _EPOCH) // _MICROSECOND
_CYCLE: Final = 146_097 * DAY


@lru_cache(maxsize=64)
def zone_of(name: str) -> ZoneInfo | None:
    """The time zone of a name in any case; None for no zone's."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        spelt = next((known for known in sorted(available_timezones()) if known.lower() == name.lower()), None)
        return None if spelt is None else ZoneInfo(spelt)


def _moved(name: str, arguments: list[Value]) -> Value:
    moments, zone = integers(as_vector(arguments[0])), _zone(only_text(name, arguments[1]))
    if name == "local_moment":
        return exact(TIMESTAMP, moments + _offsets(moments, lambda at: _ahead_of_universal(at, zone)), name)
    return exact(TIMESTAMP, moments - _offsets(moments, lambda at: _ahead_of_local(at, zone)), name)


def _zone(name: str) -> ZoneInfo:
    found = zone_of(name)
    if found is None:
        raise DataError(f"there is no time zone '{name}'")
    return found


def _offsets(moments: Array, ahead: Callable[[int], int]) -> Array:
    """How far clocks are ahead at each moment, asked for once an hour where they are not set within it."""
    hours, places = np.unique(moments // _HOUR, return_inverse=True)
    begins = [ahead(int(hour) * _HOUR) for hour in hours]
    ends = [ahead((int(hour) + 1) * _HOUR - 1) for hour in hours]
    made = np.array(begins, dtype=np.int64)[places.reshape(-1)]
    changing = np.flatnonzero(np.array([a != b for a, b in zip(begins, ends)], dtype=bool)[places.reshape(-1)])
    made[changing] = [ahead(int(moment)) for moment in moments[changing]]
    return made


def _ahead_of_universal(moment: int, zone: ZoneInfo) -> int:
    return _offset(_time(moment).replace(tzinfo=datetime.UTC).astimezone(zone))


def _ahead_of_local(moment: int, zone: ZoneInfo) -> int:
    time = _time(moment).replace(tzinfo=zone)
    return min(_offset(time), _offset(time.replace(fold=1)))


def _offset(time: datetime.datetime) -> int:
    offset = time.utcoffset()
    assert offset is not None
    return offset // _MICROSECOND


def _time(moment: int) -> datetime.datetime:
    """The moment, or one of the years that Python has at which clocks are as far ahead."""
    if moment > _LAST:
        moment -= ((moment - _LAST) // _CYCLE + 1) * _CYCLE
    return _EPOCH + datetime.timedelta(microseconds=max(moment, _FIRST))


ZONES: Final[dict[str, Callable[[str, list[Value]], Value]]] = dict.fromkeys(
    ["local_moment", "universal_moment"], _moved
)
