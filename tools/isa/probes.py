"""The words that ptxas emits: for the PTX corpus, the benchmark kernels and single instructions of every form."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.isa import spellings, vendor
from tools.legality import REGISTERS

ROOT = Path(__file__).resolve().parents[2]
VERSION = "8.8"  # the newest that ptxas 12.9 takes
LEVELS = ("3", "1", "0")
PROBES_AT_ONCE = 150
HEAD = f""".version {VERSION}
.target sm_TARGET
.address_size 64
.global .align 16 .b8 garr[256];
.const .align 16 .b8 carr[256];
.shared .align 16 .b8 smem[256];
.extern .shared .align 16 .b8 dynamic_smem[];
.func (.reg .b32 result) callee_regs (.reg .b32 a, .reg .b64 b) {{ mov.b32 result, a; ret; }}
.func callee_void () {{ ret; }}
.func (.param .b32 result) callee_params (.param .b64 a) {{ st.param.b32 [result], 0; ret; }}
"""
ENTRY = """.visible .entry NAME (.param .u64 p0, .param .u32 p1, .param .align 16 .b8 p2[64])
{
REGISTERS PROBE
ts: .branchtargets L0, L1;
proto: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _);
L0:
L1:
ret;
}
"""

# Asynchronous copies and barriers in memory, which the legality corpus does not have.
ASYNCHRONOUS = (
    """
cp.async.ca.shared.global [%r1], [%rd1], 4;|cp.async.ca.shared.global [%r1+16], [%rd1+32], 8;
cp.async.ca.shared.global [%r1], [%rd1], 16;|cp.async.cg.shared.global [%r1], [%rd1], 16;
cp.async.ca.shared.global [%r1], [%rd1], 8, %r2;|cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;
cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;|cp.async.cg.shared.global.L2::256B [%r1], [%rd1], 16;
cp.async.ca.shared.global.L2::64B [%r1], [%rd1], 4;|cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %rd2;
cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %r2, %rd2;|cp.async.ca.shared.global [%r1], [%rd1], 16, %p1;
cp.async.commit_group;|cp.async.wait_group 0;|cp.async.wait_group 3;|cp.async.wait_all;
cp.async.mbarrier.arrive.shared.b64 [%r1];|cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
cp.async.mbarrier.arrive.b64 [%rd1];|mbarrier.init.shared.b64 [%r1], %r2;|mbarrier.init.b64 [%rd1], %r2;
mbarrier.inval.shared.b64 [%r1];|mbarrier.arrive.shared.b64 %rd0, [%r1];|mbarrier.arrive.shared.b64 %rd0, [%r1], %r2;
mbarrier.arrive.b64 %rd0, [%rd1];|mbarrier.arrive.noComplete.shared.b64 %rd0, [%r1], %r2;
mbarrier.arrive_drop.shared.b64 %rd0, [%r1];|mbarrier.arrive_drop.noComplete.shared.b64 %rd0, [%r1], %r2;
mbarrier.arrive_drop.shared.b64 %rd0, [%r1], %r2;|mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];
mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r1], %r2;|mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r1], %r2;|mbarrier.pending_count.b64 %r0, %rd1;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;|mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], %r2;
mbarrier.test_wait.shared.b64 %p0, [%r1], %rd1;|mbarrier.test_wait.parity.shared.b64 %p0, [%r1], %r2;
mbarrier.test_wait.acquire.cluster.shared::cta.b64 %p0, [%r1], %rd1;|mbarrier.try_wait.shared.b64 %p0, [%r1], %rd1;
mbarrier.try_wait.parity.shared.b64 %p0, [%r1], %r2;|mbarrier.try_wait.shared.b64 %p0, [%r1], %rd1, %r2;
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [%r1], %r2, %r3;|mbarrier.test_wait.b64 %p0, [%rd1], %rd2;
""".strip()
    .replace("\n", "|")
    .split("|")
)


# `setmaxnreg`, in a kernel whose number of registers is known.
REGISTER_COUNTS = """
.visible .entry k(.param .u64 p0) .maxntid 384 .minnctapersm 1
{
.reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; @%p1 bra L0;
setmaxnreg.inc.sync.aligned.u32 232; st.global.u32 [%rd1], %r1; bra L1;
L0: setmaxnreg.dec.sync.aligned.u32 40; st.global.u32 [%rd1+4], %r1;
L1: ret;
}
"""


def corpus_files() -> list[Path]:
    """Our PTX corpus and the kernels of the benchmarks, sorted."""
    corpus = sorted((ROOT / "tests" / "golden" / "corpus").rglob("*.ptx"))
    return corpus + sorted((ROOT / "benchmarks" / "kernels").glob("*.ptx"))


def retargeted(text: str, target: int) -> str:
    """The PTX for another target, in the version that ptxas 12.9 takes."""
    text = re.sub(r"^\.version.*", f".version {VERSION}", text, flags=re.M)

    def line(found: re.Match[str]) -> str:
        return f".target sm_{target}" + (", debug" if "debug" in found[0] else "")

    return re.sub(r"^\.target[^\n]*", line, text, flags=re.M)


def assemble(text: str, target: int, level: str, variant: str = "") -> tuple[bytes, str]:
    """(cubin, complaints) of one PTX text; the cubin is empty where ptxas refuses it. `variant`: the "a" of sm_90a."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "a.ptx"), os.path.join(folder, "a.cubin")
        Path(source).write_text(text)
        command = [vendor.tool("ptxas"), f"-arch=sm_{target}{variant}", "-O" + level, source, "-o", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not os.path.exists(out):
            return b"", done.stdout + done.stderr
        return Path(out).read_bytes(), ""


def text_sections(cubin: bytes) -> Iterator[bytes]:
    """The contents of the `.text.*` sections of a cubin."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    count, names = struct.unpack_from("<HH", cubin, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + 64 * i) for i in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if cubin[start : start + 6] == b".text.":
            yield cubin[header[4] : header[4] + header[5]]


def words_of(cubin: bytes, target: int) -> Iterator[int]:
    """Every instruction word of a cubin; on sm_61 without the control words."""
    for section in text_sections(cubin):
        if target >= 75:
            for at in range(0, len(section) - 15, 16):
                yield int.from_bytes(section[at : at + 16], "little")
        else:
            for at in range(0, len(section) - 7, 8):
                if at % 32:
                    yield int.from_bytes(section[at : at + 8], "little")


def legal_probes() -> list[str]:
    """The single PTX instructions that are known to be legal, from tests/golden/corpus/legality.txt."""
    lines = (ROOT / "tests" / "golden" / "corpus" / "legality.txt").read_text().splitlines()
    return [line.split("\t", 1)[1] for line in lines if line.startswith("ok\t")]


def probe_entries() -> list[str]:
    """The legal single instructions, each in a kernel of one line."""
    around = ENTRY.replace("REGISTERS", REGISTERS).replace("\n", " ")
    return [around.replace("PROBE", probe) for probe in legal_probes() + ASYNCHRONOUS]


def entries_cubin(entries: list[str], target: int, level: str) -> list[bytes]:
    """The cubins of many kernels of one line, without those that this target refuses."""
    head = HEAD.replace("TARGET", str(target))
    left = list(entries)
    while left:
        lines = [entry.replace("NAME", f"probe{i}") for i, entry in enumerate(left)]
        cubin, complaints = assemble(head + "\n".join(lines) + "\n", target, level)
        if cubin:
            return [cubin]
        first = head.count("\n") + 1
        bad = {int(found) - first for found in re.findall(r"line (\d+); (?:error|fatal)", complaints)}
        if not bad & set(range(len(left))):
            half = len(left) // 2
            both = (left[:half], left[half:]) if half else ()
            return [cubin for some in both for cubin in entries_cubin(some, target, level)]
        left = [entry for i, entry in enumerate(left) if i not in bad]
    return []


def emitted_words(target: int, levels: tuple[str, ...] = LEVELS) -> Counter[int]:
    """How often ptxas emits each word, control bits aside, over the corpus and the probes."""
    counts: Counter[int] = Counter()
    keep = (1 << 105) - 1 if target >= 75 else (1 << 64) - 1
    texts = [retargeted(path.read_text(), target) for path in corpus_files()]
    jobs = [(text, level) for text in texts for level in levels]
    groups = []
    for entries, level in ((probe_entries(), "0"), (spellings.entries(target), "3")):
        groups += [(entries[i : i + PROBES_AT_ONCE], target, level) for i in range(0, len(entries), PROBES_AT_ONCE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for cubin, _ in pool.map(lambda job: assemble(job[0], target, job[1]), jobs):
            counts.update(word & keep for word in (words_of(cubin, target) if cubin else ()))
        for cubins in pool.map(lambda group: entries_cubin(*group), groups):
            for cubin in cubins:
                counts.update(word & keep for word in words_of(cubin, target))
    counts.update(word & keep for word in specific_words(target))
    return counts


def specific_words(target: int) -> list[int]:
    """The words of what only sm_90a has and we select."""
    if target != 90:
        return []
    text = f".version {VERSION}\n.target sm_90a\n.address_size 64\n{REGISTER_COUNTS}"
    cubin, _ = assemble(text, target, "3", "a")
    return list(words_of(cubin, target))
