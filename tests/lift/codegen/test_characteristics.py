"""The optimisations that table 4.2 says each benchmark has, found in the code of the timed programs.

Where the table and the text of section 4.6.2 differ, the text is right: AMD's N-body is the vectorised one without
local memory, and CLBlast's matrix multiplications are vectorised on both GPUs. MD has vectors of coordinates.
"""

import re

import pytest

from benchmarks.lift.cases import CASES, Case
from drawloom.lift import compile

#: Local memory, vector operations, dimensions of the iteration space.
EXPECTED: dict[str, tuple[bool, bool, int]] = {
    "N-Body NVIDIA": (True, True, 1),
    "N-Body AMD": (False, True, 1),
    "MD": (False, True, 1),
    "K-Means": (False, False, 1),
    "NN": (False, False, 1),
    "MRI-Q": (False, False, 1),
    "Convolution": (True, False, 2),
    "ATAX": (True, False, 1),
    "GEMV": (True, False, 1),
    "GESUMMV": (True, False, 1),
    "MM AMD": (False, True, 2),
    "MM NVIDIA": (True, True, 2),
}
#: The only row of the table with vector operations.
VECTORISED_IN_THE_TABLE = {"N-Body NVIDIA"}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_timed_program_has_the_optimisations_of_its_source(case: Case) -> None:
    compiled = compile(case.program(), local_size=case.local_size, exact_groups=True)
    has_local = any(str(total) != "0" for total in compiled.bytes_in("local"))
    is_vectorised = re.search(r"\bfloat4\b", compiled.opencl) is not None
    dimensions = max(sum(size > 1 for size in kernel.local_size) for kernel in compiled.kernels)
    assert (has_local, is_vectorised, dimensions) == EXPECTED[case.name]


def test_the_rows_of_the_table_that_the_text_corrects() -> None:
    vectorised = {name for name, (_, is_vectorised, _) in EXPECTED.items() if is_vectorised}
    assert vectorised - VECTORISED_IN_THE_TABLE == {"N-Body AMD", "MD", "MM AMD", "MM NVIDIA"}
