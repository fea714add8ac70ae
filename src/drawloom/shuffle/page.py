"""The report of a module as a page of HTML that needs nothing beside itself."""

from __future__ import annotations

from html import escape
from typing import Final

from drawloom.build_info import VERSION
from drawloom.ptx.demangle import source_name
from drawloom.shuffle.facts import Place, in_words
from drawloom.shuffle.summary import FunctionSummary, Summary

STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { max-width: 110em; margin: 2em auto; padding: 0 1em; }
h2, td { overflow-wrap: anywhere; }
h2 code { font-size: 70%; font-weight: normal; opacity: .7; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2em .8em; border-bottom: 1px solid #8884; }
td.place, td.lane { white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.shuffle { background: #2a81; box-shadow: inset 3px 0 #2a8; }
ul { margin: 0; padding-left: 1.2em; }
.warning { color: #c33; font-weight: bold; }
"""
HEADS: Final = ("place", "load", "lane", "source", "rests on, or why it stays")


def page(summary: Summary) -> str:
    """The whole page."""
    title = f"Shuffles of {summary.request.file}"
    out = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", "</head>", "<body>",
        f"<h1>{escape(title)}</h1>", f"<p>drawloom {VERSION}, {escape(summary.request.text())}</p>",
    ]  # fmt: skip
    if summary.warning:
        out.append(f'<p class="warning">{escape(summary.warning)}</p>')
    out.extend([f"<p>{escape(note)}</p>" for note in summary.notes])
    for function in summary.functions:
        out.extend(section(function, summary.is_applied))
    out.extend(["</body>", "</html>"])
    return "\n".join(out) + "\n"


def section(function: FunctionSummary, is_applied: bool) -> list[str]:
    """The table of one function, a load in a row, as they stand in the source."""
    name = source_name(function.name)
    symbol = "" if name == function.name else f" <code>{escape(function.name)}</code>"
    out = [f"<h2>{escape(name)}{symbol}</h2>", f"<p>{function.counted(is_applied)}</p>"]
    out.extend([f"<p>{escape(note)}</p>" for note in function.notes])
    if function.merged:
        out.append(f"<p>{function.merged} flows were joined</p>")
    if not function.loads:
        return out
    rows: list[tuple[Place, str]] = []
    for r in function.rewrites:
        reasons = "".join([f"<li>{escape(assumption)}</li>" for assumption in r.assumptions])
        source = f"{in_words(r.source_place)}: <code>{escape(r.source)}</code>"
        cells = row(r.place, r.load, f"{r.delta:+d}", source, f"<ul>{reasons}</ul>" if reasons else "")
        rows.append((r.place, f'<tr class="shuffle">{cells}</tr>'))
    for k in function.kept:
        rows.append((k.place, f"<tr>{row(k.place, k.load, '', '', escape(k.reason))}</tr>"))
    out.append("<table>")
    out.append(f"<tr>{''.join([f'<th>{head}</th>' for head in HEADS])}</tr>")
    out.extend([text for _, text in sorted(rows, key=lambda found: found[0])])
    out.append("</table>")
    return out


def row(place: Place, load: str, lane: str, source: str, why: str) -> str:
    """The cells of a load; ``source`` and ``why`` are HTML already."""
    return (
        f'<td class="place">{in_words(place)}</td><td><code>{escape(load)}</code></td><td class="lane">{lane}</td>'
        f"<td>{source}</td><td>{why}</td>"
    )
