"""Files that are there whole or not at all."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO


def find_overwritten(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> str:
    """Return the first of `inputs` that writing `output` would replace, "" if there is none.

    Symbolic and hard links to an input count as the input. What is not a plain file, such as /dev/null, is never
    replaced.
    """
    if not os.path.isfile(output):
        return ""
    return next((os.fspath(name) for name in inputs if os.path.exists(name) and os.path.samefile(name, output)), "")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which is at ``path`` when the block has ended without an error. What is no plain file there
    (/dev/null, a pipe) is written to as it is, a link stays one, and a file keeps who may read it. Raises OSError where
    the system refuses."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as there:
            yield there
        return
    target = os.path.realpath(path)
    partial = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), "wb") as file:
            if os.path.exists(target):
                os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
            yield file
        os.replace(partial, target)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
