"""The grammar of `--arg`: what each form means, and that no text makes anything but an argument or a refusal."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawloom.cli.run_arguments import (
    TYPES,
    Malformed,
    Save,
    in_order,
    parse_argument,
    parse_number,
    parse_save,
    save_array,
)
from drawloom.errors import DataError
from drawloom.runtime.parameter_names import ParameterNames

FORMS = {
    "x=1": 1,
    "x=-0x10": -16,
    "x=1_000": 1000,
    "x=1e3": 1000.0,
    "x=-inf": float("-inf"),
    "x:f32=2": np.float32(2),
    "x:f16=1e9": np.float16("inf"),
    "x:i8=-128": np.int8(-128),
    "x:b16=0xffff": np.uint16(0xFFFF),
    "x:u64=18446744073709551615": np.uint64(2**64 - 1),
}


@pytest.mark.parametrize("text", FORMS)
def test_scalars(text: str) -> None:
    given_ = parse_argument(text)
    assert given_.name == "x"
    assert given_.value == FORMS[text]
    assert type(given_.value) is type(FORMS[text])


@pytest.mark.parametrize("type_name", TYPES)
def test_arrays_of_every_type(type_name: str) -> None:
    for fill, expected in (("", 0), ("=1", 1)):
        array = parse_argument(f"x:{type_name}[2,3]{fill}").value
        assert isinstance(array, np.ndarray)
        assert array.shape == (2, 3)
        assert array.dtype == np.dtype(TYPES[type_name])
        assert (array == expected).all()
    drawn = parse_argument(f"x:{type_name}[500]=random").value
    assert len(np.unique(drawn)) > 100
    counted = parse_argument(f"x:{type_name}[5]=arange").value
    np.testing.assert_array_equal(counted, [0, 1, 2, 3, 4])
    assert parse_argument(f"x:{type_name}[0]").value.size == 0


PIECES = st.sampled_from(
    "x y1 : = [ ] , f32 u8 i64 0 7 -3 1e400 random ( ) arange .npy nan 0x / é 99999999999999999999".split()
)
WORDS = st.lists(PIECES, max_size=9).map("".join)


@given(
    st.text() | st.lists(PIECES, max_size=9).map("".join) | st.lists(PIECES, max_size=6).map(lambda p: "x" + "".join(p))
)
def test_any_text_is_an_argument_or_a_refusal_fuzz(text: str) -> None:
    for parse in (parse_argument, parse_save):
        try:
            made = parse(text)
        except Malformed as refusal:
            assert "expected" in str(refusal) or "is" in str(refusal)
        except DataError:
            assert "=" in text or "[" in text
        else:
            assert made.name
    number = parse_number(text)
    assert number is None or isinstance(number, (int, float))


@pytest.mark.parametrize("shape", ["99999999999999999999", "4000000000,4000000000"])
@pytest.mark.parametrize("fill", ["", "=1", "=arange", "=random"])
def test_arrays_beyond_every_memory_are_refused(shape: str, fill: str) -> None:
    with pytest.raises(DataError, match="no memory for uint8"):
        parse_argument(f"x:u8[{shape}]{fill}")


def arguments(*names: str) -> list[object]:
    return [parse_argument(f"{name}=0") for name in names]


def names_in_order(*names: str, parameters: tuple[str, ...] = ("a", "b", "c")) -> list[str]:
    known = ParameterNames("k", parameters, dict)
    return [argument.name for argument in in_order(arguments(*names), known)]


def test_names_of_all_parameters_may_stand_in_any_order() -> None:
    assert names_in_order("c", "a", "b") == ["a", "b", "c"]
    assert names_in_order("2", "b", "0") == ["0", "b", "2"]
    assert names_in_order("n", "k_x", parameters=("k_x", "k_n")) == ["k_x", "n"]


@pytest.mark.parametrize(
    ("names", "refusal"),
    [
        (("x", "b", "c"), "--arg: kernel k: no parameter 'x'; there are: a, b, c"),
        (("a", "b", "3"), "no parameter '3'"),
        (("a", "b", "b"), "parameter 'b' is given twice"),
        (("a", "1", "b"), "parameter 'b' is given twice"),
        (("a",), "kernel k: no --arg for b, c"),
    ],
)
def test_names_that_do_not_give_each_parameter_one_argument(names: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(Malformed, match=re.escape(refusal)):
        names_in_order(*names)


def test_saves() -> None:
    save = parse_save("out=a=b.npy")
    assert isinstance(save, Save)
    assert (save.name, save.path) == ("out", "a=b.npy")


def test_array_is_saved_to_a_pipe_which_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    save_array(np.arange(3, dtype=np.uint8), str(pipe))
    assert os.read(reader, 64) == b"\0\1\2" and pipe.is_fifo()
    os.close(reader)
