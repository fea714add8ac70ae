"""ptxas's command line to what `drawloom as` does: a table of its options (`ptxas --help`, 12.9 and 13.0) and ours.

An option is spelled `--long VALUE`, `--long=VALUE`, `-short VALUE` or `-short=VALUE`; `-O` and `-m` also take their
value attached. Options with an effect are in `OPTIONS`; those that ask for what we do anyway, or that forbid what we
never do, are in `WITHOUT_EFFECT` with the reason. All others are refused by name.
"""

import shlex
from pathlib import Path
from typing import Final

import click

# Long name -> short name, what its value is called ("" for a flag), what it does.
OPTIONS: Final[dict[str, tuple[str, str, str]]] = {
    "gpu-name": (
        "arch",
        "ARCH",
        "The target: one of those above, sm_90 if left out; compute_NN only checks the PTX.",
    ),
    "output-file": ("o", "FILE", "The cubin; of several input files, the folder to put them in."),
    "verbose": ("v", "", "Print registers, stack, spills and memory of every kernel."),
    "opt-level": ("O", "N", "0 keeps the program's order and waits for every instruction; all others are one."),
    "compile-only": ("c", "", "A relocatable file for nvlink."),
    "maxrregcount": ("maxrregcount", "N", "Most registers of a thread, where no directive says it."),
    "maxntid": ("maxntid", "X,Y,Z", "As the directive, where a kernel has none."),
    "minnctapersm": ("minnctapersm", "N", "As the directive, where a kernel has none."),
    "override-directive-values": ("override-directive-values", "", "These three count before directives."),
    "entry": ("e", "NAME,...", "Only these kernels."),
    "generate-line-info": ("lineinfo", "", "Line tables, by .loc, or of the PTX where it has none."),
    "device-debug": ("g", "", "Line tables, and -O0. No other debug information."),
    "suppress-debug-info": ("suppress-debug-info", "", "No line tables after all."),
    "warn-on-spills": ("warn-spills", "", "Warn where registers are kept in memory."),
    "warn-on-local-memory-usage": ("warn-lmem-usage", "", "Warn where local memory is used."),
    "warn-on-double-precision-use": ("warn-double-usage", "", "Warn where a kernel computes with doubles."),
    "disable-warnings": ("w", "", "No warnings."),
    "warning-as-error": ("Werror", "", "A warning is an error."),
    "options-file": ("optf", "FILE", "Options from a file."),
    "help": ("h", "", "This text."),
    "version": ("V", "", "Our version, and the release of ptxas that we stand in for."),
    # Ours.
    "schedule": ("schedule", "list|serial", "serial waits for every instruction, to find faults."),
    "cuda": ("cuda", "12|13", "Layout of the file: 12 (the default) or 13."),
}

#: Options whose values add up.
LISTS: Final = ("entry",)
BOOLEAN: Final = ("true", "false")
#: How deep options files may name each other.
MOST_DEEP: Final = 8
# Long name -> short name, the values that it may have (() for a flag), why it changes nothing.
WITHOUT_EFFECT: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "machine": ("m", ("64",), "addresses have 64 bits"),
    "fmad": ("fmad", BOOLEAN, "products and sums are never contracted"),
    "allow-expensive-optimizations": ("allow-expensive-optimizations", BOOLEAN, "none is expensive"),
    "Ofast-compile": ("Ofc", ("0", "min", "mid", "max"), "it may be as fast as it is"),
    "split-compile": ("split-compile", ("N",), "one thread is used"),
    "register-usage-level": ("regUsageLevel", ("5",), "the default"),
    "dont-merge-basicblocks": ("no-bb-merge", (), "blocks are not merged"),
    "return-at-end": ("ret-end", (), "returns stay where they are"),
    "disable-optimizer-constants": ("disable-optimizer-consts", (), "no constants are put into a bank"),
    "device-stack-protector": ("device-stack-protector", ("false",), "the default"),
    "position-independent-code": ("pic", ("false",), "the default"),
    "suppress-async-bulk-multicast-advisory-warning": (
        "suppress-async-bulk-multicast-advisory-warning", (), "there is no such warning",
    ),
    "suppress-double-demote-warning": ("suppress-double-demote-warning", (), "there is no such warning"),
    "suppress-stack-size-warning": ("suppress-stack-size-warning", (), "there is no such warning"),
    "suppress-sparse-mma-advisory-info": ("suppress-sparse-mma-advisory-info", (), "there is no such advice"),
    "regAllocOptLevel": ("regAllocOptLevel", ("N",), "a knob of ptxas's own register allocator"),
}  # fmt: skip

#: What ptxas has and we do not.
REFUSED: Final = {
    "compile-as-tools-patch": "astoolspatch", "compiler-annotations": "annotate",
    "def-load-cache": "dlcm", "def-store-cache": "dscm", "device-function-maxrregcount": "func-maxrregcount",
    "extensible-whole-program": "ewp", "force-load-cache": "flcm", "force-store-cache": "fscm",
    "g-tensor-memory-access-check": "g-tmem-access-check", "gno-tensor-memory-access-check": "gno-tmem-access-check",
    "input-as-string": "ias", "list-version": "version-ls", "sanitize": "sanitize",
    "legacy-bar-warp-wide-behavior": "legacy-bar-warp-wide-behavior",
    "make-errors-visible-at-exit": "make-errors-visible-at-exit", "optimize-float-atomics": "opt-fp-atomics",
    "preserve-relocs": "preserve-relocs", "sp-bounds-check": "sp-bounds-check",
}  # fmt: skip

_ATTACHED: Final = ("O", "m")
# How an option is spelled -> its long name.
_SPELLINGS: Final[dict[str, str]] = {
    spelling: long
    for long, short in [(long, row[0]) for table in (OPTIONS, WITHOUT_EFFECT) for long, row in table.items()]
    for spelling in ("--" + long, "-" + short)
}
_FOREIGN: Final[dict[str, str]] = {
    spelling: "--" + long for long, short in REFUSED.items() for spelling in ("--" + long, "-" + short)
}


class CommandLine:
    """A command line taken apart: the input files, and the value of each option that was given (the last one's, but
    all of `LISTS`). `harmless` has the values of those without effect, `warnings` what is wrong and taken."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.values: dict[str, str] = {}
        self.harmless: dict[str, str] = {}
        self.warnings: list[str] = []

    def has(self, name: str) -> bool:
        return name in self.values

    def number(self, name: str, words: dict[str, int] | None = None) -> int | None:
        """The value of an option as a number that is not negative; None where it was not given."""
        text = self.values.get(name)
        if text is None:
            return None
        if words and text in words:
            return words[text]
        if not text.isascii() or not text.isdigit():
            raise click.UsageError(
                f"--{name} {text}: expected a number" + "".join(f" or {word}" for word in words or ())
            )
        return int(text)

    def names(self, name: str) -> list[str]:
        """The value of an option as a list of names."""
        return [word for word in self.values.get(name, "").split(",") if word]

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """The value of an option that must be one of these; the first where it was not given."""
        text = self.values.get(name, choices[0])
        if text not in choices:
            raise click.UsageError(f"--{name} {text}: expected {' or '.join(choices)}")
        return text


def read_command_line(words: list[str]) -> CommandLine:
    """Take a command line apart. Raises UsageError, which names the option."""
    out = CommandLine()
    take(words, out, 0)
    return out


def take(words: list[str], out: CommandLine, depth: int) -> None:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word[:1] != "-" or word == "-":
            out.files.append(word)
            continue
        spelling, equals, value = word.partition("=")
        long = _SPELLINGS.get(spelling)
        if long is None and word[1:2] in _ATTACHED:
            spelling, equals, value = word[:2], "=", word[2:]
            long = _SPELLINGS[spelling]
        if long is None:
            foreign = _FOREIGN.get(spelling)
            if foreign:
                raise click.UsageError(f"ptxas's option {foreign} ({spelling}) is not supported")
            raise click.UsageError(f"no such option: {spelling}")
        if not takes_value(long):
            if equals:
                raise click.UsageError(f"{spelling} takes no value")
        elif not equals:
            if at == len(words):
                raise click.UsageError(f"{spelling} needs a value")
            value = words[at]
            at += 1
        note(long, spelling, value, out, depth)


def takes_value(long: str) -> bool:
    return bool(OPTIONS[long][1] if long in OPTIONS else WITHOUT_EFFECT[long][1])


def is_spelling(word: str, long: str) -> bool:
    """Whether a word, without a value behind it, is an option."""
    return _SPELLINGS.get(word) == long


def words_of_files(names: str) -> list[str]:
    """The words of options files, whose names are joined by commas, as ptxas reads them: with double quotes and
    backslashes, without comments. Raises OSError, and ValueError for quotes that do not end."""
    words: list[str] = []
    for name in names.split(","):
        reader = shlex.shlex(Path(name).read_text(encoding="utf-8", errors="surrogateescape"), posix=True)
        reader.quotes = '"'
        reader.whitespace_split = True
        reader.commenters = ""
        words.extend(reader)
    return words


def needs_value(word: str) -> bool:
    """Whether what follows this word of a command line is its value."""
    return word in _SPELLINGS and takes_value(_SPELLINGS[word])


def note(long: str, spelling: str, value: str, out: CommandLine, depth: int) -> None:
    """Keep what an option says; of those without effect only look whether the value is one that it may have."""
    if long == "options-file":
        if depth > MOST_DEEP:
            raise click.UsageError(f"{spelling} {value}: option files name each other")
        try:
            words = words_of_files(value)
        except (OSError, ValueError) as failure:
            raise click.UsageError(f"{spelling} {value}: cannot be read: {failure}") from failure
        take(words, out, depth + 1)
    elif long in LISTS:
        out.values[long] = ",".join([*out.names(long), value])
    elif long in OPTIONS:
        keep(long, value, out.values, out)
    else:
        allowed = WITHOUT_EFFECT[long][1]
        if allowed == ("N",):
            allowed = (value,) if value.isascii() and value.isdigit() else ("a number",)
        if allowed and value not in allowed:
            raise click.UsageError(f"{spelling} {value} is not supported: expected {' or '.join(allowed)}")
        keep(long, value, out.harmless, out)


def keep(long: str, value: str, values: dict[str, str], out: CommandLine) -> None:
    """The last value counts; that there was another one is said."""
    if values.setdefault(long, value) != value:
        out.warnings.append(f"--{long} is given several times, the last value is used: {value}")
        values[long] = value


def help_text(targets: list[str]) -> str:
    """What --help prints."""
    lines = [
        "Usage: drawloom as [OPTIONS] FILES...", "",
        "  Assemble PTX FILES, each to a cubin beside it (FILE.cubin) or to -o; - is standard input.", "",
        f"  Targets: {', '.join(targets)}, sm_90a. The options are ptxas's but for the last two.", "", "Options:",
    ]  # fmt: skip
    rows = [(spelled(long, short, value), text) for long, (short, value, text) in OPTIONS.items()]
    width = 40
    for left, text in rows:
        lines.append(f"  {left:<{width}}  {text}" if len(left) <= width else f"  {left}\n  {'':<{width}}  {text}")
    lines += ["", "Accepted, and without effect:"]
    for long, (short, values, why) in WITHOUT_EFFECT.items():
        left = spelled(long, short, "|".join(values))
        lines.append(f"  {left:<{width}}  {why}" if len(left) <= width else f"  {left}\n  {'':<{width}}  {why}")
    return "\n".join(lines) + "\n"


def spelled(long: str, short: str, value: str) -> str:
    both = f"--{long}" if short == long else f"-{short}, --{long}"
    return f"{both} {value}" if value else both
