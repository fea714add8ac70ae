"""Finds ptxas and the two nvdisasm, and turns batches of instruction words into their text.

nvdisasm prints nothing at all when one word of a file is illegal, but its errors name the addresses: those
words are replaced by NOP and the batch is run again. 40,000 words take about a second.

Tools are looked for in the folder that DRAWLOOM_VENDOR names, then in the cache folder that `fetch` fills,
then (ptxas and nvdisasm) on PATH.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drawloom.errors import Error

# wheel -> (requirement, programs inside, the names we give them)
WHEELS: dict[str, tuple[str, dict[str, str]]] = {
    "nvidia_cuda_nvcc_cu12": ("nvidia-cuda-nvcc-cu12==12.9.86", {"ptxas": "ptxas"}),
    "nvidia_cuda_nvdisasm": ("nvidia-cuda-nvdisasm>=13,<14", {"nvdisasm": "nvdisasm"}),
    "triton": ("triton==3.0.0", {"nvdisasm": "nvdisasm-12.4", "cuobjdump": "cuobjdump"}),
}
NOP_128 = 0x000FC00000000000_0000000000007918
NOP_64 = 0x50B0000000070F00
CONTROL_64 = 0x7E1  # stall 1, no barriers: what sm_61 takes where a word brings no control in its bits from 64 on
BATCH = 40_000
AT_ADDRESS = re.compile(r"at address 0x([0-9a-f]+)")
# Textures, surfaces, graphics, tensor cores, ray tracing: outside of what ptx/ covers, so never in the tables.
OUTSIDE = frozenset(
    "TEX TLD TLD4 TXQ TXD TMML TXA TEXS TLDS TLD4S IPA AST ALD OUT AL2P ISBERD ISBEWR PIXLD FOOTPRINT KILL SULD SUST "
    "SUATOM SURED SUQ SULEA SUCLAMP SUBFM SUEAU IMMA BMMA HMMA DMMA QMMA BGMMA HGMMA QGMMA IGMMA CSMTEST LDTRAM "
    "GETLMEMBASE SETLMEMBASE SETCTAID RTT STP TTUCCTL TTUGO TTULD TTUMACROFUSE TTUOPEN TTUST TTUCLOSE RPCMOV "
    "PSMTEST KEEPREFCOUNT AL2P TMML IDE RAM SAM LDSM STSM MOVM BMOVE SPMETADATA SUQUERY".split()
)
# A word of two classes ends the run without its address; on sm_75 every other word of ALD is one.
AMBIGUOUS = re.compile(r"More than one pattern matched .* classes ([a-z0-9]+)_")
SKIPPED: dict[int, set[int]] = {}  # by target, opcodes left out that have such words
AT_LINE = re.compile(r"/\*[0-9a-f]{4,}\*/")
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:\{ +)?(.*?) *(?:\(\*.*\*\))? *(?:;|\})? *$")


def folder() -> Path:
    """Where downloaded tools are kept: DRAWLOOM_VENDOR, else drawloom-vendor in the user's cache folder."""
    named = os.environ.get("DRAWLOOM_VENDOR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "drawloom-vendor"


def find(name: str) -> str | None:
    """The path of `ptxas`, `nvdisasm` or `nvdisasm-12.4`, or None."""
    kept = folder() / name
    if os.access(kept, os.X_OK):
        return str(kept)
    return shutil.which(name)


def tool(name: str) -> str:
    """The path of a vendor tool. Raises Error where it is not installed."""
    found = find(name)
    if found is None:
        raise Error(f"{name} is not installed: `python -m tools.isa fetch` downloads it")
    return found


@functools.cache
def assembles_for(target: int) -> bool:
    """Whether there is a ptxas and it knows this target; from 13.0 on it does not know sm_61."""
    found = find("ptxas")
    if found is None:
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(".version 6.3\n.target sm_61\n.address_size 64\n")
        file.flush()
        command = [found, f"-arch=sm_{target}", file.name, "-o", os.devnull]
        return subprocess.run(command, capture_output=True).returncode == 0


def fetch() -> None:
    """Downloads the three wheels with pip and unpacks the tools into `folder()`."""
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    for wheel, (requirement, programs) in WHEELS.items():
        if all((target / name).exists() for name in programs.values()):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            if wheel == "triton":
                pip += ["--python-version", "3.11"]
            subprocess.run([*pip, "--dest", scratch, requirement], check=True)
            with zipfile.ZipFile(next(Path(scratch).glob(wheel + "-*.whl"))) as archive:
                for inner in archive.namelist():
                    name = programs.get(os.path.basename(inner))
                    if name is not None:
                        (target / name).write_bytes(archive.read(inner))
                        (target / name).chmod(0o755)


def nvdisasm_for(target: int) -> str:
    return tool("nvdisasm-12.4" if target < 75 else "nvdisasm")


def image(words: list[int], target: int) -> bytes:
    """The words as nvdisasm wants them: on sm_61 three to a group, behind a control word."""
    if target >= 75:
        return b"".join(word.to_bytes(16, "little") for word in words)
    padded = [*words, *[NOP_64] * (-len(words) % 3)]
    parts = []
    for at in range(0, len(padded), 3):
        controls = [word >> 64 or CONTROL_64 for word in padded[at : at + 3]]
        parts.append(controls[0] | controls[1] << 21 | controls[2] << 42)
        parts += [word & (1 << 64) - 1 for word in padded[at : at + 3]]
    return b"".join(part.to_bytes(8, "little") for part in parts)


def address_of(place: int, target: int) -> int:
    """The byte address of the instruction at this place of a batch."""
    return place * 16 if target >= 75 else (place // 3 * 4 + place % 3 + 1) * 8


def place_of(address: int, target: int) -> int:
    return address // 16 if target >= 75 else address // 32 * 3 + address % 32 // 8 - 1


def run_once(words: list[int], target: int, flags: tuple[str, ...]) -> tuple[str, str]:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(image(words, target))
        file.flush()
        done = subprocess.run(
            [nvdisasm_for(target), "-b", f"SM{target}", "-ndf", *flags, file.name], capture_output=True, text=True
        )
    return done.stdout, done.stderr


def batch_texts(words: list[int], target: int, flags: tuple[str, ...] = ()) -> list[str]:
    """The text of every word of one batch; "" where the word is illegal."""
    words = list(words)
    nop = NOP_128 if target >= 75 else NOP_64
    skipped = SKIPPED.setdefault(target, set())
    illegal = {place for place, word in enumerate(words) if word & 0xFFF in skipped}
    for place in illegal:
        words[place] = nop
    while True:
        out, complaints = run_once(words, target, flags)
        ambiguous = AMBIGUOUS.search(complaints)
        if ambiguous is None:
            bad = {place_of(int(found, 16), target) for found in AT_ADDRESS.findall(complaints)} - illegal
        else:
            bad = {ambiguous_one(words, target)}
            if target >= 75 and ambiguous[1].upper() in OUTSIDE:
                skipped |= {words[place] & 0xFFF for place in bad}
                bad |= {place for place, word in enumerate(words) if word & 0xFFF in skipped}
        if not bad and not AT_LINE.search(out):
            bad = silent_ones(words, target, 0, len(words))
        if not bad:
            break
        for place in bad:
            words[place] = nop
        illegal |= bad
    texts = [""] * len(words)
    for line in out.splitlines():
        found = LINE.search(line)
        if found is not None:
            place = place_of(int(found[1], 16), target)
            if place < len(words):
                texts[place] = found[2]
    for place in illegal:
        texts[place] = ""
    return texts


def ambiguous_one(words: list[int], target: int) -> int:
    """The place of a word that ends a run because it is of two classes, found by halving."""
    start, end = 0, len(words)
    while end - start > 1:
        middle = (start + end) // 2
        if AMBIGUOUS.search(run_once(words[start:middle], target, ())[1]):
            end = middle
        else:
            start = middle
    return start


def silent_ones(words: list[int], target: int, start: int, end: int) -> set[int]:
    """The illegal words between two places of which nvdisasm does not tell the address, found by halving."""
    out, complaints = run_once(words[start:end], target, ())
    told = {start + place_of(int(found, 16), target) for found in AT_ADDRESS.findall(complaints)}
    if told or AT_LINE.search(out):
        return told
    if end - start == 1:
        return {start}
    middle = (start + end) // 2
    return silent_ones(words, target, start, middle) | silent_ones(words, target, middle, end)


def texts_of(words: list[int], target: int) -> list[str]:
    """The text of every word, as printed at the address its place in its batch gives; "" where illegal."""
    batches = [words[i : i + BATCH] for i in range(0, len(words), BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for texts in pool.map(lambda batch: batch_texts(batch, target), batches) for text in texts]
