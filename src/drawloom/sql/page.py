"""A profile as one page of HTML: no scripts and nothing from elsewhere, tables that screen readers can read, bars whose
numbers stand beside them, and the outline as a picture."""

from __future__ import annotations

from html import escape
from typing import Final

from drawloom.errors import count
from drawloom.horse.memory import shown
from drawloom.sql.profile import HEADINGS, NUMBERS, Call, Profile, milliseconds, row

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; background: #fff; margin: 2rem auto; max-width: 76rem;
  padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
pre, code, td.name { font: 13px/1.4 ui-monospace, monospace }
pre { background: #f4f4f4; padding: .7rem; overflow-x: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse } caption { text-align: left; padding-bottom: .4rem; color: #444 }
th, td { padding: .2rem .6rem; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums }
.time { width: 14rem } .bar { display: block; height: .8rem; background: #2a6f97; min-width: 1px }
tr.library .bar { background: #b5541c } tr.host .bar { background: #6a6a6a }
ol { font: 13px/1.5 ui-monospace, monospace; padding-left: 3.5rem } li:target { background: #fff3c4 }
"""


def page(profile: Profile) -> str:
    """The whole page. ``profile.outline`` is drawn where there is one."""
    summary = f"{count(profile.rows, 'row')} on {profile.device} in {milliseconds(profile.total)} ms"
    if profile.peak_bytes is not None:
        summary += f", {shown(profile.peak_bytes)} of memory at most"
    if profile.lacking:
        summary += f", run in DataFusion for what is not built yet: {'; '.join(profile.lacking)}"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Query profile: {escape(summary)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>Query profile</h1>\n<p>{escape(summary)}</p>\n<pre>{escape(profile.text)}</pre>",
        stages(profile),
    ]
    if profile.calls:
        parts.append(calls(profile))
    if profile.outline is not None:
        parts.append(picture(profile))
    if profile.statements:
        lines = [f'<li id="s{n}">{escape(text)}</li>' for n, text in enumerate(profile.statements, 1)]
        parts.append(
            "<h2>Program</h2>\n<p>The outlined main, a statement a line.</p>\n<ol>" + "\n".join(lines) + "</ol>"
        )
    return "\n".join([*parts, "</main>\n</body>\n</html>"]) + "\n"


def stages(profile: Profile) -> str:
    longest = max(profile.seconds.values(), default=0.0)
    lines = [
        f'<tr><th scope="row">{escape(stage)}</th><td class="number">{milliseconds(took)}</td>{bar(took, longest)}</tr>'
        for stage, took in profile.seconds.items()
    ]
    head = '<tr><th scope="col">stage</th><th scope="col" class="number">ms</th><td></td></tr>'
    return table("What each stage took", head, lines, "Stages")


def calls(profile: Profile) -> str:
    kept = [n for n in range(len(HEADINGS)) if any(row(call)[n] for call in profile.calls)]
    longest = max([call.run_seconds for call in profile.calls])
    head = "".join([f'<th scope="col"{number(n)}>{escape(HEADINGS[n])}</th>' for n in kept])
    lines = [f'<tr class="{c.kind}">{cells(c, kept)}{bar(c.run_seconds, longest)}</tr>' for c in profile.calls]
    caption = (
        "Kernels of the program, library functions and other work over rows, in the order in which they began. Run "
        "time is without compiling; shared and local memory are bytes of a block and of a thread."
    )
    return table(caption, f"<tr>{head}<td></td></tr>", lines, "Calls")


def cells(call: Call, kept: list[int]) -> str:
    made: list[str] = []
    for n in kept:
        text = escape(row(call)[n])
        if HEADINGS[n] == "statement" and call.statement:
            text = f'<a href="#s{call.statement}">{text}</a>'
        if n == 0:
            text = "&ensp;" * 2 * call.depth + text.lstrip()
        made.append(f'<th scope="row"><code>{text}</code></th>' if n == 0 else f"<td{number(n)}>{text}</td>")
    return "".join(made)


def number(column: int) -> str:
    return ' class="number"' if NUMBERS[column] else ""


def bar(seconds: float, longest: float) -> str:
    """A bar beside a number that says the same, so that it is nothing to a screen reader."""
    width = 100.0 * seconds / longest if longest > 0 else 0.0
    return f'<td class="time" aria-hidden="true"><span class="bar" style="width: {width:.1f}%"></span></td>'


def table(caption: str, head: str, lines: list[str], title: str) -> str:
    body = "\n".join(lines)
    return (
        f'<h2>{title}</h2>\n<div class="wide" role="region" tabindex="0" aria-label="{title}"><table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def picture(profile: Profile) -> str:
    from drawloom.horse.picture import as_svg

    assert profile.outline is not None
    # Within HTML the name space is known, and a page without addresses plainly loads nothing.
    drawn = (
        as_svg(profile.outline)
        .replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)
        .replace("<svg ", '<svg role="img" aria-label="The dependence graph of the program, kernels as clusters" ', 1)
    )
    return f'<h2>Outline</h2>\n<div class="wide" role="region" tabindex="0" aria-label="Outline">{drawn}</div>'
