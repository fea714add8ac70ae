"""Asks ptxas about thousands of single PTX instructions and keeps its verdicts, one line each.

The probes are generated over opcodes x modifiers x types, legal and illegal alike, then a second round
damages what turned out legal (operand counts, register classes, modifier order). The result,
tests/golden/corpus/legality.txt, is what the verifier is measured against.

    python -m tools.legality                      # regenerate the file (needs ptxas on PATH, five minutes)
    python -m tools.legality --explain 'add.f32 %f0, %r1, 3;'
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.legality_probes import first_round, second_round

OUT = Path(__file__).resolve().parent.parent / "tests" / "golden" / "corpus" / "legality.txt"
VERSION, ARCH = "9.0", "sm_90"

# What a probe may refer to. The verifier's test builds the same module around each probe.
MODULE_HEAD = f""".version {VERSION}
.target {ARCH}
.address_size 64
.global .align 16 .b8 garr[256];
.const .align 16 .b8 carr[256];
.shared .align 16 .b8 smem[256];
.extern .shared .align 16 .b8 dynamic_smem[];
.func (.reg .b32 result) callee_regs (.reg .b32 a, .reg .b64 b) {{ mov.b32 result, a; ret; }}
.func callee_void () {{ ret; }}
.func (.param .b32 result) callee_params (.param .b64 a) {{ st.param.b32 [result], 0; ret; }}
.visible .entry probes (.param .u64 p0, .param .u32 p1, .param .align 16 .b8 p2[64])
{{
"""
REGISTERS = """.reg .pred %p<8>;
.reg .b16 %h<8>; .reg .u16 %uh<8>; .reg .s16 %sh<8>; .reg .f16 %hf<8>; .reg .b8 %b<8>; .reg .u8 %ub<8>;
.reg .b32 %r<16>; .reg .u32 %u<8>; .reg .s32 %s<8>; .reg .f32 %f<8>; .reg .f16x2 %hx<8>;
.reg .b64 %rd<16>; .reg .u64 %ud<8>; .reg .s64 %sd<8>; .reg .f64 %fd<8>;
.reg .b128 %rq<4>;
.local .align 16 .b8 lmem[64];
.param .b32 q0; .param .b64 q1;
"""
MODULE_TAIL = """ts: .branchtargets L0, L1;
proto: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _);
L0:
L1:
ret;
}
"""
KEPT_PER_COMPLAINT = 25  # illegal probes kept for one opcode and one kind of complaint


def judge_one(probe: str) -> str | None:
    """Assembles a module with this probe alone; returns ptxas's complaint, None where it is legal."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.ptx")
        Path(path).write_text(MODULE_HEAD + REGISTERS + probe + "\n" + MODULE_TAIL)
        command = ["ptxas", f"-arch={ARCH}", "-O0", path, "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    found = re.search(r"(?:error|fatal)\s*:\s*(.*)", done.stderr)
    return found[1] if found else done.stderr.strip()


def judge(probes: list[str]) -> list[str | None]:
    """Judges each probe in a module of its own: in company, a probe can hide or cause another's error."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(judge_one, probes))


def thinned(probes: list[str], messages: list[str | None]) -> tuple[list[str], list[str | None]]:
    """Keeps every legal probe, and of the illegal ones a few for each opcode and kind of complaint."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place, (probe, message) in enumerate(zip(probes, messages)):
        if message is not None:
            opcode = re.split(r"[.\s;]", probe, maxsplit=1)[0]
            groups.setdefault((opcode, message), []).append(place)
    kept = {place for place, message in enumerate(messages) if message is None}
    chance = random.Random(0)
    for places in groups.values():
        kept.update(chance.sample(places, min(KEPT_PER_COMPLAINT, len(places))))
    return [probes[place] for place in sorted(kept)], [messages[place] for place in sorted(kept)]


def file_text(probes: list[str], messages: list[str | None]) -> str:
    legal = sum(message is None for message in messages)
    head = f"""\
ptxas's verdict on single PTX instructions: `ok` or `error`, a tab, the instruction.
Made by tools/legality.py; {len(probes)} probes, {legal} legal. Lines that start with # are comments.
Each probe stands alone in the body of `probes` in this module, after the declarations:

{MODULE_HEAD}{REGISTERS}<the probe>
{MODULE_TAIL}"""
    commented = "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines())
    lines = [f"{'ok' if message is None else 'error'}\t{probe}\n" for probe, message in zip(probes, messages)]
    return commented + "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--explain", metavar="PROBE", help="print ptxas's complaint about one instruction")
    options = parser.parse_args()
    if shutil.which("ptxas") is None:
        print("legality: ptxas is not on PATH", file=sys.stderr)
        return 1
    if options.explain:
        print(judge([options.explain])[0] or "ok")
        return 0
    probes = list(dict.fromkeys(first_round()))
    messages = judge(probes)
    legal = [probe for probe, message in zip(probes, messages) if message is None]
    known = set(probes)
    more = [p for p in dict.fromkeys(second_round(legal, random.Random(0))) if p not in known]
    probes += more
    messages += judge(more)
    probes, messages = thinned(probes, messages)
    scratch = OUT.with_suffix(".new")
    scratch.write_text(file_text(probes, messages))
    scratch.replace(OUT)
    print(f"{len(probes)} probes, {sum(m is None for m in messages)} legal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
