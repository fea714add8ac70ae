"""Plans that take long, made in a process of their own: DataFusion lets nothing else run while it optimises a plan or
writes it as Substrait, so that Ctrl-C can end only a process that does.

Both sides send pickles: a call of the planner's and its arguments; True and what it gave, or False and the message of
the SqlError that it raised. The process ends with its pipe.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import subprocess
import sys
import threading
from collections import OrderedDict
from typing import IO, TYPE_CHECKING, Any, Final

from drawloom.sql.clauses import Sql

if TYPE_CHECKING:
    from drawloom.sql.planner import Planner

#: What takes DataFusion some tenths of a second: it takes time by the cube of the length of a chain of operators, which
#: is its depth, and by the square of the number of columns and joins.
_LONG_CHAIN: Final = 100
#: Operators of a chain, at most: 999 took a minute on a busy machine, and time goes by the cube.
MOST_OPERATORS: Final = 999
_LONG_TEXT: Final = 4000
_MANY_RELATIONS: Final = 48
_OPERATORS: Final = ("+", "-", "*", "/", "%", "||", "|", "&", "#")
#: Those that a chain of products is one operand of: what is deep by their number.
_OUTER: Final = ("+", "-", "||", "|", "&", "#")
#: Words between operands of two chains.
_BETWEEN: Final = frozenset([
    ",", ";", "select", "from", "where", "and", "or", "on", "when", "then", "else", "group", "having", "order", "by",
    "union", "intersect", "except", "=", "<", ">", "<=", ">=", "<>", "!=",
])  # fmt: skip
#: Plans that the process keeps, so that what is asked about one does not plan it again.
_KEPT: Final = 8
_START: Final = "import sys; sys.path[:] = {path!r}; from drawloom.sql.planner_process import serve; serve()"


def takes_long(sql: str) -> bool:
    """Whether planning the text may take longer than somebody waits who wants it to end."""
    if len(sql) > _LONG_TEXT:
        return True
    lower = sql.lower()
    if lower.count("join") + lower.count("select") > _MANY_RELATIONS:
        return True
    return _operators(sql) >= _LONG_CHAIN and longest_chain(sql)[0] >= _LONG_CHAIN


def endless_chain(sql: str) -> tuple[int, int] | None:
    """The number of operators of a chain that has more than ``MOST_OPERATORS``, and the offset of the first that is too
    many; None where there is no such chain."""
    if _operators(sql) <= MOST_OPERATORS:
        return None
    count, offset = longest_chain(sql, _OUTER)
    return (count, offset) if count > MOST_OPERATORS else None


def _operators(sql: str) -> int:
    """How many operators a text may have, be it in quotes."""
    return sum([sql.count(mark) for mark in "+-*/%|&#"])


def longest_chain(sql: str, operators: tuple[str, ...] = _OPERATORS) -> tuple[int, int]:
    """The most of these operators between operands of one chain, those of chains in its brackets not among them, and
    the offset of the one behind the first ``MOST_OPERATORS``, -1 where there are no more."""
    longest, offset = 0, -1
    counts: dict[int, int] = {}
    for token in Sql(sql).tokens:
        for deeper in [d for d in counts if d > token.depth]:
            del counts[deeper]
        if token.is_mark(*operators):
            counts[token.depth] = counts.get(token.depth, 0) + 1
            longest = max(longest, counts[token.depth])
            if offset < 0 and counts[token.depth] > MOST_OPERATORS:
                offset = token.start
        elif token.text in _BETWEEN and token.kind in ("word", "mark"):
            counts[token.depth] = 0
    return longest, offset


class PlannerProcess:
    """A planner in another process, which is told of every ``told`` call first. What ``ask`` is interrupted in ends
    with its process; the next call starts one anew."""

    def __init__(self, told: dict[tuple[str, str], tuple[Any, ...]]) -> None:
        self.told = told
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        #: Held by the thread that asks.
        self.turn = threading.Lock()
        #: The calls that the process knows.
        self.known: dict[tuple[str, str], tuple[Any, ...]] = {}

    @staticmethod
    def can_start() -> bool:
        """Whether there is a Python to start: a program that has Python within it may have none."""
        return bool(sys.executable) and not getattr(sys, "frozen", False)

    def ask(self, call: str, *arguments: Any) -> Any:
        """What the planner's method gives. Raises SqlError as it does, EOFError when the process ended."""
        with self.turn:
            try:
                is_right, answer = self.answer(call, arguments)
            except BaseException as problem:  # an answer that nobody took must not become the next one's
                self.stop()
                if isinstance(problem, BrokenPipeError | pickle.UnpicklingError):
                    raise EOFError from None
                raise
        if not is_right:
            from drawloom.sql.planner import SqlError

            raise SqlError(answer)
        return answer

    def answer(self, call: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        if self.process is None or self.owner != os.getpid():
            self.start()
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        news = [(key[0], given) for key, given in self.told.items() if self.known.get(key) is not given]
        pickle.dump((news, call, arguments), self.process.stdin)
        self.process.stdin.flush()
        self.known = dict(self.told)
        answer: tuple[bool, Any] = pickle.load(self.process.stdout)
        return answer

    def start(self) -> None:
        self.known = {}
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C is for us, who end the process
        )  # fmt: skip

    def stop(self) -> None:
        """Ends the process, whatever it does."""
        process, self.process = self.process, None
        if process is None or self.owner != os.getpid():
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:  # what was not yet sent
                    pass
        process.wait()


class PlanApart:
    """A logical plan that another process has."""

    def __init__(self, process: PlannerProcess, sql: str, optimised: bool, text: str) -> None:
        self.process = process
        self.sql = sql
        self.optimised = optimised
        self.text = text

    def display_indent(self) -> str:
        return self.text

    def serialised(self) -> bytes:
        """Raises SqlError for what Substrait cannot say."""
        data: bytes = self.process.ask("serialised", self.sql, self.optimised)
        return data

    def unsupported(self) -> list[str]:
        """What the plan needs that is not built."""
        found: list[str] = self.process.ask("unsupported", self.sql, self.optimised)
        return found


class _Served:
    """What the process is asked for."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.plans: OrderedDict[tuple[str, bool], Any] = OrderedDict()

    def learn(self, news: list[tuple[str, tuple[Any, ...]]]) -> None:
        for call, arguments in news:
            getattr(self.planner, call)(*arguments)
            self.plans.clear()

    def plan(self, sql: str, optimised: bool) -> Any:
        key = (sql, optimised)
        if key not in self.plans:
            self.plans[key] = self.planner.plan_here(sql, optimised)
            while len(self.plans) > _KEPT:
                self.plans.popitem(last=False)
        return self.plans[key]

    def text(self, sql: str, optimised: bool) -> str:
        return str(self.plan(sql, optimised).display_indent())

    def schema(self, sql: str) -> Any:
        return self.planner.schema_here(sql)

    def serialised(self, sql: str, optimised: bool) -> bytes:
        return self.planner.serialise(self.plan(sql, optimised))

    def unsupported(self, sql: str, optimised: bool) -> list[str]:
        from drawloom.sql.unserialised import unsupported_parts

        found: list[str] = []
        unsupported_parts(self.planner, self.plan(sql, optimised), found)
        return found


def _end_with_who_asks(begins: bool) -> None:
    """From now on, or no more, the end of the pipe ends the process at once, whatever it does: DataFusion lets no
    thread look, but a signal needs none. Elsewhere than on Linux the process ends when it answers nobody."""
    if not sys.platform.startswith("linux"):
        return
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC if begins else flags & ~os.O_ASYNC)
    ended = select.poll()
    ended.register(0, 0)  # of a pipe without a writer nobody needs to ask
    if begins and ended.poll(0):
        os._exit(0)


def serve() -> None:
    """Answers calls until there are no more."""
    answers: IO[bytes] = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed is no answer
    from drawloom.sql.planner import Planner, SqlError

    served = _Served(Planner())
    while True:
        try:
            news, call, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _end_with_who_asks(True)
        served.learn(news)
        try:
            answer = (True, getattr(served, call)(*arguments))
        except SqlError as problem:
            answer = (False, problem.message)
        _end_with_who_asks(False)
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody asks any more
