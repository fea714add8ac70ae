"""The runtime library that CUDA programs are linked with: from the C++ of `runtime_library/` to object files, compiled
when they are first needed and kept in the cache of compiled kernels.
"""

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from drawloom.build_info import VERSION
from drawloom.cuda.clang import HEADERS, Clang, CompileError
from drawloom.runtime.ahead import cpu_support, library_header
from drawloom.runtime.cache import kernel_store

SOURCES = Path(__file__).parent / "runtime_library"
#: What a program needs besides: threads, and the driver's library if it is there.
LIBRARIES = ("-lpthread", "-ldl", "-lm")
#: A place that all copies of the library in a process share; of one version, so that they agree on what is there.
PROCESS = "#define DL_PROCESS dl_process_{}\n"
PROCESS_SYMBOLS = "{ dl_process_*; };\n"
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")


def library_objects(clang: Clang, level: str, folder: Path) -> list[Path]:
    """Writes the library's object files, for CPUs of `level` of x86-64, to `folder`; their paths.

    Raises CompileError where the host's compiler does not take it.
    """
    sources = sorted(SOURCES.glob("*.cpp"))
    texts = [*sources, *sorted(SOURCES.glob("*.h")), HEADERS / "cuda_runtime_api.h"]
    texts += [HEADERS / "drawloom" / name for name in ("error_codes.h", "vector_types.h", "qualifiers.h", "graphs.h")]
    header = library_header()
    standard = "libc++" if clang.zig_links else "libstdc++"
    version = digest_of(VERSION, standard, header, *(path.read_text("utf-8") for path in texts))
    key = digest_of(version, " ".join(clang.cxx), str(clang.version), level, " ".join(FLAGS))
    store = kernel_store()
    packed = None if store is None else store.get(key)
    if packed is None:
        packed = compiled(clang, sources, header + PROCESS.format(version[:16]), level)
        if store is not None:
            store.put(key, packed)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
        return [folder / name for name in archive.namelist()]


def digest_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compiled(clang: Clang, sources: list[Path], header: str, level: str) -> bytes:
    """The object files of the library, in one archive. All sources are compiled as one: most of the time goes into the
    headers that they share."""
    with TemporaryDirectory(prefix="drawloom-") as temporary:
        folder = Path(temporary)
        (folder / "tables.h").write_text(header, "utf-8")
        whole, out = folder / "library.cpp", folder / "library.o"
        whole.write_text("".join([f'#include "{source}"\n' for source in sources]), "utf-8")
        includes = [f"-I{folder}", f"-I{SOURCES}", f"-I{HEADERS}"]
        done = subprocess.run(
            [*clang.cxx, *FLAGS, *includes, "-c", str(whole), "-o", str(out)], capture_output=True, text=True
        )
        if done.returncode:
            raise CompileError(done.stderr)
        objects = [("library.o", out.read_bytes()), ("support.o", cpu_support(level))]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in objects:
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()
