"""LLVM: the host's target machine, IR text to optimised object code, object code to callable addresses."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, ClassVar, Final

import llvmlite
import llvmlite.binding as llvm

from drawloom.cpu.objects import undefined_symbols
from drawloom.errors import UnsupportedError

_lock: Final = threading.Lock()
_initialised = False


#: What the levels of x86-64 bring (System V ABI, processor supplement, section 3.1.1), in LLVM's names.
_LEVEL_2: Final = "64bit cmov cx8 cx16 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 x87"
_LEVEL_3: Final = f"{_LEVEL_2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
LEVELS: Final[dict[str, frozenset[str]]] = {
    "x86-64-v2": frozenset(_LEVEL_2.split()),
    "x86-64-v3": frozenset(_LEVEL_3.split()),
    "x86-64-v4": frozenset([*_LEVEL_3.split(), "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
}
#: What DRAWLOOM_CPU_FEATURES takes, and the level of x86-64 that each stands for; "host": all that this CPU has.
HOST: Final = "host"
FEATURE_SETS: Final[dict[str, str]] = {
    "sse4.2": "x86-64-v2", "avx2": "x86-64-v3", "avx512": "x86-64-v4", HOST: "",
}  # fmt: skip


class Host:
    """The target machine of this CPU, or of any that has a level of x86-64. ``features`` are LLVM's names of what it
    can do."""

    def __init__(self, level: str = "") -> None:
        _initialise()
        self.triple: str = llvm.get_process_triple()
        found = llvm.get_host_cpu_features()
        self.features = LEVELS[level] if level else frozenset([name for name, present in found.items() if present])
        # LLVM guesses the CPU's name from its model number and then misses features; the list is what counts.
        self.cpu = "x86-64-v4" if "avx512f" in self.features else "x86-64-v3" if "avx2" in self.features else ""
        wanted = ["+" + f for f in sorted(self.features)]
        if "avx512f" in self.features:
            wanted += ["-prefer-256-bit", "+evex512"] if "evex512" in found else ["-prefer-256-bit"]
        elif "avx2" in self.features:  # else LLVM takes a branch for each lane of a gather
            wanted.append("+fast-gather")
        self.feature_text = ",".join(wanted)
        self.is_x86 = self.triple.startswith(("x86_64", "i686"))
        self.key = f"{self.triple}/{self.cpu}/{self.feature_text}/{llvmlite.__version__}"

    def machine(self, opt: int) -> Any:
        """A new target machine, which owns no shared state."""
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu, features=self.feature_text, opt=opt, reloc="pic", codemodel="default", jit=False
        )


def _initialise() -> None:
    global _initialised
    with _lock:
        if not _initialised:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            _initialised = True


_hosts: Final[dict[str, Host]] = {}


def host() -> Host:
    """Return the machine that kernels of this process are compiled for: this CPU with the features that
    DRAWLOOM_CPU_FEATURES allows. This is the one place that decides.

    Raises UnsupportedError for an unknown set, and for one that this CPU lacks.
    """
    wanted = os.environ.get("DRAWLOOM_CPU_FEATURES") or HOST
    known = _hosts.get(wanted)
    if known is None:
        known = _hosts[wanted] = _selected(wanted)
    return known


def _selected(wanted: str) -> Host:
    whole = Host()
    if wanted == HOST:
        return whole
    sets = [*FEATURE_SETS] if whole.is_x86 else [HOST]
    if wanted not in sets:
        raise UnsupportedError(f"DRAWLOOM_CPU_FEATURES={wanted}: expected {' or '.join(sets)}")
    lesser = Host(FEATURE_SETS[wanted])
    missing = sorted(lesser.features - whole.features - {"x87"})  # LLVM leaves x87 out of its list for a host
    if missing:
        raise UnsupportedError(f"DRAWLOOM_CPU_FEATURES={wanted}: this CPU lacks {' '.join(missing)}")
    return lesser


#: Optimiser levels: what a kernel that runs more than once deserves; what compiles a large one, whose loops are
#: unrolled and whose common values are found already, in half the time to as fast code; what compiles in a third of it.
FULL: Final = 2
LARGE: Final = 1
QUICK: Final = 0
_PASSES: Final = {
    LARGE: ("always_inliner", "sroa", "simplify_cfg", "instruction_combine", "simplify_cfg"),
    QUICK: ("always_inliner", "sroa", "simplify_cfg"),
}


def level() -> int:
    """The optimiser level: ``FULL``, or ``QUICK`` when DRAWLOOM_OPTIMIZE=0 is set."""
    return QUICK if os.environ.get("DRAWLOOM_OPTIMIZE", "") == "0" else FULL


def optimise(text: str, target: Host | None = None, wanted: int = -1) -> Any:
    """Parse LLVM IR and run the optimiser over it; raises ``RuntimeError`` with LLVM's message on bad IR.

    ``target`` is this host without one, ``wanted`` the ``level``. Each function is simplified by itself: what a module
    pipeline adds, inlining and vectorising, is done already, and takes half of its time.
    """
    wanted = level() if wanted < 0 else wanted
    target = target or host()
    machine = target.machine(wanted)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=max(wanted, LARGE))
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    if wanted in _PASSES:
        _run_passes((*_PASSES[wanted], "global_dead_code_eliminate"), module, builder)
        return module
    _run_passes(("always_inliner",), module, builder)
    manager = builder.getFunctionPassManager()
    try:
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)
    finally:
        _dispose(manager)
    _run_passes(("global_dead_code_eliminate",), module, builder)
    return module


def _run_passes(names: tuple[str, ...], module: Any, builder: Any) -> None:
    manager = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(manager, f"add_{name}_pass")()
    try:
        manager.run(module, builder)
    finally:
        _dispose(manager)


def _dispose(manager: Any) -> None:
    """Free a pass manager with all that its passes keep. Its ``close`` finds the empty ``_dispose`` of its first base
    class and frees nothing (llvmlite 0.50)."""
    llvm.NewPassManager._dispose(manager)
    manager.detach()


def object_code(text: str) -> bytes:
    """Relocatable machine code for this host from LLVM IR."""
    module = optimise(text)
    code: bytes = host().machine(level()).emit_object(module)
    return code


class Loaded:
    """Object code linked into the process, for as long as this object lives.

    ``symbols`` are what it defines and we call, ``imports`` addresses of what it calls. Raises ``RuntimeError`` where
    it needs more than those and what the process has.
    """

    _count: ClassVar[int] = 0

    def __init__(self, code: bytes, symbols: list[str], imports: dict[str, int] | None = None) -> None:
        machine = host()
        missing = [name for name in undefined_symbols(code) if name not in (imports or {}) and not _in_process(name)]
        if missing:
            raise RuntimeError(f"its code calls {', '.join(missing)}, which this process does not have")
        with _lock:
            self.jit = _session(Loaded._count, machine)
            Loaded._count += 1
            builder = llvm.JITLibraryBuilder()
            builder.add_object_img(code)
            builder.add_current_process()
            for name, address in (imports or {}).items():
                builder.import_symbol(name, address)
            for symbol in symbols:
                builder.export_symbol(symbol)
            self.tracker = builder.link(self.jit, f"kernel{Loaded._count}")
            self.addresses: dict[str, int] = {name: int(self.tracker[name]) for name in symbols}


def _in_process(name: str) -> bool:
    return hasattr(ctypes.CDLL(None), name)


#: A linking session never forgets the names of what it unloaded, 10 KB each, and walks them on every link; so each
#: serves this many libraries and goes with the last of them. To start one takes as long as to link two.
_SESSION_LIBRARIES: Final = 64
_lljit: Any = None


def _session(count: int, machine: Host) -> Any:
    """The session for library number ``count``.

    JITLink places the sections of a library side by side. LLVM's older linker maps each where there is room, and its
    32-bit distances from code to constants end the process once more than 2 GiB lie between.
    """
    global _lljit
    if count % _SESSION_LIBRARIES == 0:
        _lljit = llvm.create_lljit_compiler(machine.machine(FULL), use_jit_link=True)
    return _lljit
