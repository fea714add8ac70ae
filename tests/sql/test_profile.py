"""What a run took: by stage and by call, as text, JSON and a page of HTML; machine code and resources of kernels."""

import json
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from drawloom.errors import UnsupportedError
from drawloom.runtime.assembler import Resources
from drawloom.sql import Relation, connect
from drawloom.sql.page import page
from drawloom.sql.profile import Profile, aligned

T = pa.table({"a": pa.array(range(1000), pa.int32()), "k": pa.array([n % 7 for n in range(1000)], pa.int32())})
V = pa.table({"k": pa.array([1, 3, 5, 5], pa.int32()), "w": ["x", "y", "z", "<z>"]})
#: Whose library function has kernels that are compiled in no time.
MEMBERS = "select count(*) as n from t where k in (select k from v)"
QUERY = "select w, sum(a) as s from t join v on t.k = v.k where a < 700 group by w order by s desc"


def relation(query: str = QUERY, **options: str) -> Relation:
    return connect("cpu").register("t", T).register("v", V).sql(query, **options)


@pytest.fixture(scope="module")
def profile() -> Profile:
    asked = relation(library="host")
    asked.arrow()
    return asked.profile()


def test_every_call_over_rows_has_its_rows_and_its_place(profile: Profile) -> None:
    calls = {call.name: call for call in profile.calls}
    kernel, join = calls["main_0"], calls["join"]
    assert (kernel.kind, kernel.rows_in[0], len(kernel.launches)) == ("kernel", 1000, 1)
    assert 700 <= kernel.rows_out <= 1000
    assert (join.kind, join.launches) == ("library", [])
    assert sorted(join.rows_in) == [4, 700]
    assert join.rows_out == sum([n % 7 in (1, 3) or 2 * (n % 7 == 5) for n in range(700)])
    assert join.bytes_in > 0 and join.bytes_out in (2 * 4 * join.rows_out, 2 * 8 * join.rows_out)
    for call in profile.calls:
        text = profile.statements[call.statement - 1]
        assert call.depth or (f"@{call.name}(" in text and call.target in text)
    assert [c.name for c in profile.calls if c.name in ("list", "table", "load_table", "column_value")] == []


def test_compile_time_and_run_time_are_apart(profile: Profile) -> None:
    (launched,) = [n for call in profile.calls if call.name == "main_0" for n in call.launches]
    assert launched.compile_seconds > 0 and launched.run_seconds > 0
    assert profile.seconds["compile"] == pytest.approx(sum([call.compile_seconds for call in profile.calls]))
    assert profile.seconds["kernels"] == pytest.approx(sum([n["run_seconds"] for n in profile.kernels]))
    library = sum([call.run_seconds for call in profile.calls if call.kind == "library"])
    assert profile.seconds["library"] > 0 and library <= profile.seconds["library"] * 1.001


def test_json_has_all_of_it(profile: Profile) -> None:
    found = json.loads(profile.json())
    assert (found["engine"], found["device"], found["rows"], found["lacking"]) == ("drawloom", "cpu", 4, [])
    assert list(found["seconds"])[-4:] == ["compile", "kernels", "library", "control"]
    assert found["total_seconds"] == pytest.approx(sum(found["seconds"].values()))
    join = next(call for call in found["calls"] if call["name"] == "join")
    assert (join["kind"], join["by"], join["launches"]) == ("library", "host", [])
    launch = next(call for call in found["calls"] if call["kind"] == "kernel")["launches"][0]
    assert launch["shared_bytes"] == 0 and launch["registers"] is None and launch["threads"] == 32
    assert len(found["statements"]) >= max(call["statement"] for call in found["calls"])


def test_the_peak_of_memory_holds_the_columns(profile: Profile) -> None:
    big = pa.table({"a": pa.array(range(200_000), pa.int64())})
    found = connect("cpu", memory_limit="1G").register("t", big).sql("select max(a + 1) from t").profile()
    assert found.peak_bytes is not None and 4 * 200_000 <= found.peak_bytes < found.limit_bytes == 1 << 30
    assert re.search(r"^memory .* at most, of 1", str(found), re.MULTILINE)
    assert json.loads(found.json())["peak_bytes"] == found.peak_bytes and "of memory at most" in found.html()


def test_the_table_is_aligned(profile: Profile) -> None:
    lines = str(profile).splitlines()
    rule = next(n for n, line in enumerate(lines) if line.startswith("---"))
    assert lines[rule - 1].startswith("call ") and "rows in" in lines[rule - 1]
    assert all(len(line) <= len(lines[rule]) for line in lines[rule:])
    column = lines[rule - 1].index("rows out") + len("rows out")
    assert all(re.match(r"[\d,]*\d(  |$)", line[:column].rsplit(" ")[-1] + line[column:]) for line in lines[rule + 1 :])
    assert aligned(["a", "b", "c"], [["x", "", "10"], ["yy", "", "9"]], [False, True, True]) == [
        "a    c", "--  --", "x   10", "yy   9",
    ]  # fmt: skip


class Checker(HTMLParser):
    """Notes what does not nest, and what a page would load."""

    EMPTY = ("meta", "path", "rect", "line", "circle", "link", "img", "br")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href"):
                self.references.append(value or "")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def test_the_page_is_whole_and_needs_nothing_else(profile: Profile) -> None:
    text = profile.html()
    checker = Checker()
    checker.feed(text)
    assert (checker.problems, checker.open) == ([], [])
    assert "http" not in text and "@import" not in text and not {"script", "link", "img"} & set(checker.tags)
    assert len(checker.ids) == len(set(checker.ids))
    assert {r.removeprefix("#") for r in checker.references} <= set(checker.ids)
    assert 'lang="en"' in text and text.count("<caption>") == 2 and 'scope="col"' in text
    assert '<svg role="img" aria-label=' in text and "main_0" in text


def test_the_page_quotes_what_the_query_has(profile: Profile) -> None:
    strange = Profile("select '<b>&' from t", "cpu", {"plan": 0.5, "compile": 0.0}, 3)
    strange.lacking = ["function: <i>"]
    text = page(strange)
    assert "select &#x27;&lt;b&gt;&amp;&#x27;" in text and "&lt;i&gt;" in text and "<b>" not in text
    assert 'style="width: 100.0%"' in text and 'style="width: 0.0%"' in text


def test_a_kernel_of_a_library_function_is_launched_and_told() -> None:
    found = relation(MEMBERS, library="kernels").profile()
    told = [call for call in found.calls if call.kind == "library" and call.launches]
    assert told != []
    assert all(n.run_seconds > 0 and n.threads > 0 for call in told for n in call.launches)
    assert [
        call for call in relation(MEMBERS, library="host").profile().calls if call.kind == "library" and call.launches
    ] == []


def test_a_kernel_is_compiled_once_however_often_it_is_launched() -> None:
    asked = relation(MEMBERS, library="kernels")
    calls = asked.profile().calls + asked.profile().calls
    compiled = [n.name for call in calls for n in call.launches if n.compile_seconds]
    assert compiled and sorted(compiled) == sorted(2 * list(set(compiled)))


def test_calls_within_a_kernel_that_the_host_does_are_within_it() -> None:
    told = relation().profile().calls
    inside = [call for call in told if call.depth]
    for call in inside:
        around = [c for c in told[: told.index(call)] if c.depth == call.depth - 1][-1]
        assert (around.kind, around.launches, around.statement) == ("kernel", [], call.statement)
    assert all(call.depth == 0 for call in told if call.kind == "library" and call.launches)


def test_both_libraries_give_one_answer() -> None:
    con = connect("cpu").register("t", T).register("v", V)
    answers = [con.sql(MEMBERS, library=choice).fetchall() for choice in ("auto", "kernels", "host")]
    assert answers[0] == answers[1] == answers[2]
    assert con.statistics.misses == 1
    assert con.resident.library.choice == "auto"


def test_machine_code_is_of_the_architecture_asked_for() -> None:
    asked = relation("select sum(a) from t")
    assert ".target\tsm_90" in asked.explain("sass")
    assert ".target\tsm_75" in asked.explain("sass", "sm_75")
    with pytest.raises(UnsupportedError, match="no code is made for 'sm_13'"):
        asked.explain("sass", "sm_13")


def test_registers_of_a_gpu_are_in_the_table(profile: Profile) -> None:
    (launched,) = [n for call in profile.calls if call.name == "main_0" for n in call.launches]
    before = launched.resources
    try:
        launched.resources = Resources(48, 37, 0)
        assert "registers" in str(profile) and re.search(r"main_0 .* 37 +48 +0", str(profile))
    finally:
        launched.resources = before
    assert "registers" not in str(profile)


def test_explain_analyze_has_the_calls() -> None:
    lines = relation("explain analyze " + QUERY).fetchall()
    assert any(stage == "profile" and line.startswith("@join ") for stage, line in lines)
    assert any(stage == "sass" and "EXIT" in line for stage, line in lines)
