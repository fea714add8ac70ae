"""Builds the package: the compile path through mypyc to C where that is possible, plain Python where not.

DRAWLOOM_BUILD chooses: `auto` (the default) compiles when a C compiler and mypyc are there and falls back to
plain with a notice; `plain` never compiles; `compiled` fails where it cannot compile. Editable installs are
always plain, so that no extension module hides an edited file. DRAWLOOM_OPTIMISE is the C compiler's -O.
"""

import glob
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from setuptools import Distribution, Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

# What is compiled: every module of these folders, `__init__.py` aside, but not what begins like this.
COMPILED_FOLDERS = ["src/drawloom/" + room for room in ("ptx", "opt", "shuffle", "cpu", "horse", "sass", "lift")]
LEFT_PLAIN = (
    "src/drawloom/sass/interpreter/", "src/drawloom/sass/verify.py", "src/drawloom/sass/flow.py",
    "src/drawloom/lift/language/", "src/drawloom/lift/compile.py",
)  # fmt: skip

#: C files of the one large extension.
JOINED = 16

MODES = ("auto", "plain", "compiled")
#: The C compiler's -O. 2 assembles about 4 % faster than 1 and builds 1.6 times as long; 3 gains nothing more.
#: The tests say 0.
OPTIMISE = "2"


class CannotCompile(Exception):
    """The compiled build is not possible here; the message says why."""


def build_mode() -> str:
    mode = os.environ.get("DRAWLOOM_BUILD", "auto") or "auto"
    if mode not in MODES:
        raise SystemExit(f"DRAWLOOM_BUILD={mode}: expected one of {', '.join(MODES)}")
    return mode


def compiled_sources() -> list[str]:
    """The paths of all modules to compile, sorted, so that the same tree gives the same build."""
    found = [path for folder in COMPILED_FOLDERS for path in glob.glob(folder + "/**/*.py", recursive=True)]
    return sorted(path for path in found if not path.startswith(LEFT_PLAIN) and not path.endswith("__init__.py"))


def why_not_compiled() -> str:
    """The reason why this machine cannot make extension modules, or "" when it should be able to."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler}) on PATH"
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.isfile(header):
        return f"no Python headers ({header})"
    try:
        import mypyc.build  # noqa: F401
    except ImportError:
        return "mypyc is not installed"
    if importlib.util.find_spec("numpy") is None:
        return "NumPy is not installed, whose types mypyc needs"
    return ""


def extensions(target_dir: str) -> list[Extension]:
    """The extension modules, their C written below `target_dir`. Raises CannotCompile."""
    from mypyc.build import mypycify

    # Only what is compiled must type-check here; of third-party types the build has NumPy's alone.
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    try:
        made: list[Extension] = mypycify(
            [*options, *compiled_sources()],
            opt_level=os.environ.get("DRAWLOOM_OPTIMISE", OPTIMISE),
            debug_level="0",
            multi_file=True,  # one C file a module, for `joined` to share out among several compilers at once
            target_dir=target_dir,
            group_name="drawloom",
        )
    except SystemExit as refusal:  # mypyc prints its errors and exits
        raise CannotCompile(f"mypyc refused the sources: {refusal}") from refusal
    # Calls take no detour: inside of the one large extension none that others could change, and out of it none over a
    # table of jumps (7 % fewer misses of the instruction cache, a third fewer mispredicted jumps).
    direct = ["-fvisibility=hidden", *(["-fno-plt"] if sys.platform == "linux" else [])]
    for extension in made:
        extension.extra_compile_args = [*extension.extra_compile_args, *direct]  # they have one list together
        for path in extension.sources:
            widen_shifts(path)
        if len(extension.sources) > JOINED:
            extension.sources = joined(extension.sources, target_dir)
    return made


def widen_shifts(path: str) -> None:
    """Makes the constants that a generated C file shifts as wide as the i64 they are in Python: mypyc writes `1 << n`
    for them, where C shifts 32 bits."""
    with open(path, encoding="utf-8") as file:
        written = file.read()
    wide = re.sub(r" = (\d+) << ", r" = (int64_t)\1 << ", written)
    if wide != written:
        with open(path, "w", encoding="utf-8") as file:
            file.write(wide)


def joined(sources: list[str], folder: str) -> list[str]:
    """`JOINED` C files that include the many, whose header of 900 KB each reads once. A large one stands beside small
    ones, so that compilers at work side by side end at about the same time."""
    sources = sorted(sources, key=lambda path: (-os.path.getsize(path), path))
    files = []
    for n in range(JOINED):
        files.append(os.path.join(folder, f"joined_{n}.c"))
        with open(files[-1], "w", encoding="utf-8") as file:
            file.writelines([f'#include "{os.path.abspath(path)}"\n' for path in sources[n::JOINED]])
    return files


class BuildAfresh(build):
    """build that starts from an empty folder: what an earlier build left there would go into the wheel."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildExtensions(build_ext):
    """build_ext that makes its extensions when it runs, and leaves a plain tree behind when it cannot."""

    def run(self) -> None:
        mode = build_mode()
        if self.inplace or getattr(self, "editable_mode", False):
            if mode == "compiled":
                raise SystemExit("DRAWLOOM_BUILD=compiled: an editable install is always plain")
            return
        if mode == "plain":
            return
        try:
            self.compile_all()
        except Exception as failure:
            if mode == "compiled":
                raise
            self.remove_compiled()
            self.distribution.ext_modules = []
            self.extensions = []
            notice(f"the C build failed ({textwrap.shorten(str(failure), 200)})")

    def compile_all(self) -> None:
        self.distribution.ext_modules = extensions(os.path.join(self.build_temp, "mypyc"))
        self.initialize_options()  # finalize_options reads ext_modules, and runs only on fresh options
        self.finalize_options()
        super().run()

    def build_extensions(self) -> None:
        """Compiles the C files of the one large extension side by side, then the small ones of its modules."""
        one_by_one = self.compiler.compile

        def side_by_side(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = pool.map(lambda source: one_by_one([source], **options), sources)
                return [path for paths in made for path in paths]

        self.compiler.compile = side_by_side
        self.parallel = os.cpu_count()
        super().build_extensions()

    def remove_compiled(self) -> None:
        """Removes the extension modules that were made before one of them failed."""
        for path in glob.glob(os.path.join(self.build_lib, "**", "*.so"), recursive=True):
            os.remove(path)


class DrawloomDistribution(Distribution):
    """Says before the build whether the wheel will hold machine code, for its tag."""

    def has_ext_modules(self) -> bool:
        return WILL_COMPILE


def notice(reason: str) -> None:
    print(f"drawloom: {reason}: building plain Python, which is slower to compile kernels", file=sys.stderr)


def decide() -> bool:
    """Whether this build will try to compile."""
    mode = build_mode()
    if mode == "plain":
        return False
    reason = why_not_compiled()
    if not reason:
        return bool(compiled_sources())
    if mode == "compiled":
        raise SystemExit(f"DRAWLOOM_BUILD=compiled: {reason}")
    notice(reason)
    return False


WILL_COMPILE = decide()

setup(distclass=DrawloomDistribution, cmdclass={"build": BuildAfresh, "build_ext": BuildExtensions})
