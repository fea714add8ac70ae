"""This CPU as LLVM sees it, and object code of it in the process."""

from __future__ import annotations

import threading
from typing import Any, Final

import llvmlite.binding as llvm

_lock: Final = threading.Lock()
_machine: Any = None
_features: frozenset[str] = frozenset()
_count = 0


def features() -> frozenset[str]:
    """Return LLVM's names of what this CPU can do."""
    _initialise()
    return _features


def vector_bits() -> int:
    """Return the width of the widest vector registers."""
    found = features()
    return 512 if "avx512f" in found else 256 if "avx" in found else 128


def _initialise() -> None:
    global _machine, _features
    with _lock:
        if _machine is not None:
            return
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        found = llvm.get_host_cpu_features()
        _features = frozenset(name for name, present in found.items() if present)
        _machine = new_machine()


def new_machine(level: int = 2) -> Any:
    """Return a target machine of this CPU, with all its features and the widest vectors."""
    triple = llvm.get_process_triple()
    wanted = ["+" + name for name in sorted(_features)]
    if "avx512f" in _features:
        wanted.append("-prefer-256-bit")
    elif "avx2" in _features:  # else LLVM takes a branch for each lane of a gather
        wanted.append("+fast-gather")
    cpu = "x86-64-v4" if "avx512f" in _features else "x86-64-v3" if "avx2" in _features else ""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=",".join(wanted), opt=level, reloc="pic", codemodel="default", jit=False
    )


class Code:
    """LLVM IR compiled and linked into the process, for as long as this object lives."""

    def __init__(self, text: str, symbol: str) -> None:
        global _count
        _initialise()
        module = llvm.parse_assembly(text)
        module.verify()
        module.triple = llvm.get_process_triple()
        with _lock:
            _count += 1
            self.object: bytes = _machine.emit_object(module)
            self.session = llvm.create_lljit_compiler(new_machine(), use_jit_link=True)
            builder = llvm.JITLibraryBuilder()
            builder.add_object_img(self.object)
            builder.add_current_process()
            builder.export_symbol(symbol)
            self.tracker = builder.link(self.session, f"batch{_count}")
            self.address = int(self.tracker[symbol])
