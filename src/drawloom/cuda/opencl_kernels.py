"""Clang's LLVM IR of OpenCL kernels to LLVM IR of which the NVPTX back end makes CUDA's kernels."""

import re
from typing import Final

_KERNEL_BODY: Final = re.compile(r"^(define )dso_local (.*@__clang_ocl_kern_imp_)", re.M)
_NOINLINE: Final = re.compile(r"(?<=\bconvergent )noinline |(?<=\{ )noinline ")
#: A kernel with the number of the metadata that has its work-group size, and such metadata.
_SIZED_KERNEL: Final = re.compile(r"^define .*ptx_kernel.* (@[^\s(]+)\(.*!reqd_work_group_size (!\d+)", re.M)
_SIZES: Final = re.compile(r"^(!\d+) = !\{i32 (\d+), i32 (\d+), i32 (\d+)\}", re.M)
_NUMBERED: Final = re.compile(r"^!(\d+) = ", re.M)


def with_kernels_inlined(llvm: str) -> str:
    """Clang makes two functions of an OpenCL kernel, an entry and a body that other kernels may call, and forbids to
    inline the body. This makes it a function like any other."""
    return _KERNEL_BODY.sub(r"\1internal \2", _NOINLINE.sub("", llvm))


def with_group_sizes(llvm: str) -> str:
    """Say in the words of the NVPTX back end what work-groups a kernel requires: `reqd_work_group_size` becomes
    `.reqntid` so. A `work_group_size_hint` requires nothing."""
    kernels = _SIZED_KERNEL.findall(llvm)
    if not kernels:
        return llvm
    sizes = {number: found for number, *found in _SIZES.findall(llvm)}
    first = max(int(number) for number in _NUMBERED.findall(llvm)) + 1
    lines: list[str] = []
    for number, (kernel, metadata) in enumerate(kernels, first):
        words = [f'!"reqntid{axis}", i32 {size}' for axis, size in zip("xyz", sizes[metadata], strict=True)]
        lines.append(f"!{number} = !{{ptr {kernel}, {', '.join(words)}}}")
    numbers = ", ".join([f"!{first + i}" for i in range(len(kernels))])
    return "\n".join([llvm.rstrip("\n"), f"!nvvm.annotations = !{{{numbers}}}", *lines, ""])
