"""How arguments may lie in memory: strided, unaligned, of another library by DLPack, and packed."""

from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.kernels import READY, read_text
from drawloom.cpu.vector.machine import host, vector_bits
from drawloom.errors import DataError, LaunchError, UnsupportedError
from tests.batch.cases import Tensor, copied, make_arguments

pytest.importorskip("pycparser")

ADD = "__kernel void add(const double *a, double *b, int n) { b[get_global_id()] += n * a[get_global_id()]; }"
#: Groups read what other groups own, and a row that all of them share.
SHIFTED = """__kernel void shifted(const double *a, const double *row, double *b) {
    size_t next = get_group_id() + 1;
    b[get_global_id()] = a[next * get_local_size() + get_local_id()] + row[get_local_id()];
}"""


def strided(shape: tuple[int, ...], kind: str, dtype: Any = np.float64) -> Any:
    """Return an array of zeros whose elements do not lie side by side in NumPy's order."""
    count, *item = shape
    if kind == "every second item":
        return np.zeros((2 * count, *item), dtype)[::2]
    if kind == "backwards":
        return np.zeros(shape, dtype)[::-1]
    if kind == "transposed":
        return np.zeros((count, *item[::-1]), dtype).transpose(0, *range(len(item), 0, -1))
    if kind == "items last":
        return np.moveaxis(np.zeros((*item, count), dtype), -1, 0)
    if kind == "columns of a wider array":
        return np.zeros((*shape[:-1], shape[-1] + 3), dtype)[..., 1:-2]
    assert kind == "unaligned"
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.zeros(size + 1, np.uint8)[1:].view(dtype).reshape(shape)


KINDS = ("every second item", "backwards", "transposed", "items last", "columns of a wider array", "unaligned")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [1, 5, 8, 3000])
@pytest.mark.parametrize(("order", "pack"), [("rows", 1), ("interleaved", 4)])
def test_strided_arrays_give_what_contiguous_ones_give(kind: str, groups: int, order: str, pack: int) -> None:
    ldus = batch.kernel(read_text("ldus"), wg_size=5, defines={"real": "double"}, order=order, pack=pack)
    plain = make_arguments("ldus", 5, groups, np.float64)["mat_a"]
    given = strided(plain.shape, kind)
    given[...] = plain
    ldus(plain)
    ldus(given)
    assert np.array_equal(given, plain)
    given[...] = 0
    assert (given.base == 0).all()  # nothing beside the items was written


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_groups_share_may_be_strided(kind: str) -> None:
    shifted = batch.kernel(SHIFTED, wg_size=4)
    a = strided((1001, 4), kind)
    a[...] = np.arange(4004.0).reshape(-1, 4)
    row = np.arange(8.0)[::2]
    b = strided((1000, 4), kind)
    shifted(a, row, b, groups=1000)
    assert np.array_equal(b, a[1:] + row)


def test_numbers_of_groups_stay_what_they_are_in_strided_arrays() -> None:
    number = batch.kernel("__kernel void number(long *p) { p[get_global_id()] = get_group_id(); }", wg_size=4)
    array = np.zeros((20_000, 8), np.int64)[:, ::2]
    number(array)
    assert np.array_equal(array, np.repeat(np.arange(20_000)[:, None], 4, axis=1))


def test_an_input_may_be_broadcast_and_an_output_may_not() -> None:
    add = batch.kernel(ADD, wg_size=4)
    row, b = np.arange(4.0), np.ones((100, 4))
    add(np.broadcast_to(row, (100, 4)), b, 2)
    assert np.array_equal(b, np.broadcast_to(1 + 2 * row, (100, 4)))
    output = np.lib.stride_tricks.as_strided(np.ones(4), (100, 4), (0, 8))
    with pytest.raises(LaunchError, match=r"elements of b lie in one place, and the kernel writes to it"):
        add(np.ones((100, 4)), output, 1)


def test_halves_of_one_array_do_not_overlap_where_they_interleave() -> None:
    add = batch.kernel(ADD, wg_size=4)
    both = np.ones((10, 8))
    add(both[:, ::2], both[:, 1::2], 3)
    assert np.array_equal(both, np.tile([1.0, 4.0], (10, 4)))
    with pytest.raises(LaunchError, match="a and b overlap, and the kernel writes to one"):
        add(both[:, :4], both[:, 2:6], 3)


def test_arrays_of_other_libraries_are_used_in_place() -> None:
    add = batch.kernel(ADD, wg_size=4)
    a, b = np.arange(400.0).reshape(100, 4), np.ones((200, 4))
    add(Tensor(a), Tensor(b[::2]), 2)
    assert np.array_equal(b[::2], 1 + 2 * a)
    assert (b[1::2] == 1).all()
    add(memoryview(a), b[1::2], 1)
    assert np.array_equal(b[1::2], 1 + a)
    with pytest.raises(LaunchError, match="a is not in this machine's memory"):
        add(Tensor(a, device=2), b[:100], 1)
    for wrong in (3.5, np.float64(3.5), "text", None, object()):
        with pytest.raises(LaunchError, match="a is a "):
            add(wrong, b[:100], 1)
    locked = a.copy()
    locked.flags.writeable = False
    with pytest.raises(LaunchError, match="b is read-only"):
        add(a, memoryview(locked), 1)


class OldTensor(Tensor):
    """An array of a library that speaks DLPack before version 1.0."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()


class LenientTensor(Tensor):
    """An array of a library that takes the options of DLPack 1.0 and ignores them."""

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize("old", [OldTensor, LenientTensor])
def test_an_output_by_the_old_dlpack_protocol_is_called_so(old: Any) -> None:
    add = batch.kernel(ADD, wg_size=4)
    a, b = np.ones((3, 4)), np.ones((3, 4))
    with pytest.raises(LaunchError, match=r"b comes by the old DLPack protocol(.|\n)*expected .* DLPack 1\.0 or later"):
        add(old(a), old(b), 1)
    add(old(a), b, 1)
    assert (b == 2).all()


@pytest.mark.parametrize("count", [1, 7, 8, 1000])
@pytest.mark.parametrize("shape", [(), (3,), (4, 5)])
def test_packing_and_unpacking(count: int, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).random((count, *shape), np.float32)
    packed = batch.pack(array, lanes=8)
    assert packed.data.shape == (-(-count // 8), *shape, 8)
    assert packed.shape == array.shape
    assert np.array_equal(packed.data[0, ..., 0], array[0])
    assert np.array_equal(packed.unpack(), array)
    assert np.array_equal(np.from_dlpack(packed), packed.data)


def test_what_cannot_be_packed() -> None:
    assert batch.pack(np.zeros((0, 4))).unpack().shape == (0, 4)
    with pytest.raises(DataError, match="a single number cannot be packed"):
        batch.pack(1.0)
    for lanes in (65, 0, -1, 2.0, True, "2"):
        with pytest.raises(DataError, match=f"lanes is {lanes!r}"):
            batch.pack(np.ones(3), lanes=lanes)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the array is packed already"):
        batch.pack(batch.pack(np.ones(3)))
    for items in (np.array([None]), ["a"], [[1], [1, 2]], np.zeros(3, "datetime64[s]")):
        with pytest.raises(DataError, match="cannot be packed"):
            batch.pack(items)


@pytest.mark.parametrize("name", sorted(READY))
@pytest.mark.parametrize("lanes", [2, 8])
@pytest.mark.parametrize("real", ["float", "double"])
def test_packed_arrays_give_what_others_give(name: str, lanes: int, real: str) -> None:
    dtype = np.float32 if real == "float" else np.float64
    for groups in (1, 16, 19):
        plain = make_arguments(name, 4, groups, dtype)
        given = copied(plain)
        kernel = batch.kernel(
            read_text(name), wg_size=4, name=READY[name], defines={"real": real}, order="interleaved", pack=lanes
        )
        items = {p.name: p.stride for p in kernel.signature.parameters if p.reach == "own group"}
        packed = {
            key: batch.pack(value.reshape(groups, items[key]), lanes) if key in items else value
            for key, value in given.items()
        }
        kernel(*plain.values(), groups=groups)
        if any(p.reach == "anything" for p in kernel.signature.parameters):
            with pytest.raises(LaunchError, match="is not packed, and"):
                kernel(*packed.values(), groups=groups)
            continue
        kernel(*packed.values(), groups=groups)
        for key, value in packed.items():
            if isinstance(value, batch.Packed):
                assert np.array_equal(value.unpack().reshape(plain[key].shape), plain[key]), key


@pytest.mark.parametrize("groups", [1, 8, 9, 4001])
def test_packed_and_other_arrays_together(groups: int) -> None:
    add = batch.kernel(ADD, wg_size=4)
    a = np.arange(4.0 * groups).reshape(groups, 4)
    for b in (np.ones((groups, 4)), np.ones((groups, 8))[:, ::2]):
        add(batch.pack(a, 8), b, 2)
        assert np.array_equal(b, 1 + 2 * a)
    packed = batch.pack(np.ones((groups, 4)), 8)
    add(np.repeat(a, 2, axis=0)[::2], packed, 3)
    assert np.array_equal(packed.unpack(), 1 + 3 * a)


def test_packed_arrays_that_do_not_fit_are_refused() -> None:
    add, shifted = batch.kernel(ADD, wg_size=4), batch.kernel(SHIFTED, wg_size=4)
    ones = np.ones((16, 4))
    four, eight = batch.pack(ones, 4), batch.pack(ones, 8)
    for arguments, message in (
        ((four, eight, 1), "a is packed with 4 lanes, b with 8"),
        ((batch.pack(np.ones((16, 5)), 8), eight, 1), "16 items of 5 elements\n  expected 16 groups with 4"),
        ((batch.pack(ones.astype(np.float32), 8), eight, 1), "a is an array of float32\n  expected float64"),
        ((eight, np.ones(64), 1), r"b is not packed, and a is\n  expected a packed array, or one of shape \(16, ...\)"),
        ((eight, eight, 1), "a and b overlap"),
        ((1, eight, 1), "a is a int"),
        ((eight, batch.pack(ones, 8), four), "n is an array"),
    ):
        with pytest.raises(LaunchError, match=message):
            add(*arguments)
    with pytest.raises(LaunchError, match="a is packed, 16 items of 4 elements\n  expected an array: groups access"):
        shifted(eight, np.ones(4), np.ones((15, 4)), groups=15)
    assert (four.data == 1).all()
    assert (eight.data == 1).all()


def test_fewer_groups_than_packed_items_are_refused_as_the_last_pack_would_write_items_beyond() -> None:
    add = batch.kernel(ADD, wg_size=4)
    a, b = batch.pack(np.ones((16, 4)), 8), batch.pack(np.ones((16, 4)), 8)
    for groups in (5, 17):
        with pytest.raises(LaunchError, match=f"16 items of 4 elements\n  expected {groups} groups with 4"):
            add(a, b, 1, groups=groups)
    assert (b.data == 1).all()


def test_packed_arrays_are_for_the_vectors_of_the_cpu() -> None:
    add = batch.kernel(ADD, wg_size=4, device="cpu")
    ones = np.ones((16, 4))
    with pytest.raises(UnsupportedError, match="packed arrays are for vectors of the CPU"):
        add(batch.pack(ones), batch.pack(ones), 1)


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("kind", KINDS)
def test_a_device_takes_strided_arrays(kind: str) -> None:
    shifted = batch.kernel(SHIFTED, wg_size=4, device="reference")
    a, b = strided((6, 4), kind), strided((5, 4), kind)
    a[...] = np.arange(24.0).reshape(6, 4)
    shifted(a, np.arange(8.0)[::2], b, groups=5)
    assert np.array_equal(b, a[1:] + np.arange(8.0)[::2])


def aligned(shape: tuple[int, ...], dtype: Any, offset: int = 0) -> Any:
    """Return zeros that begin `offset` bytes after a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + size].view(dtype).reshape(shape)


@pytest.mark.skipif(not host().is_x86, reason="stores around the caches are x86's")
@pytest.mark.parametrize(("size", "real"), [(8, "double"), (8, "float"), (3, "double"), (4, "float")])
def test_stores_around_the_caches_change_no_result(size: int, real: str) -> None:
    dtype = np.float32 if real == "float" else np.float64
    options: Any = {"wg_size": size, "defines": {"real": real}}
    text = read_text("gema")
    always, never = batch.kernel(text, streaming=True, **options), batch.kernel(text, streaming=False, **options)
    a, b = np.random.default_rng(0).random((2, 1003, size, size)).astype(dtype)
    for offset in (0, 16, 8):
        c = aligned(a.shape, dtype, offset)
        always(a, b, c)
        assert np.array_equal(c, a + b)
    assert sum(layout.streaming for layout in always.compiled) == 1
    never(a, b, aligned(a.shape, dtype))
    assert not any(layout.streaming for layout in never.compiled)
    streamed = always.make_native(always.layout(always.pack)._replace(streaming=True)).text
    assert ("!nontemporal" in streamed) == (size * size * np.dtype(dtype).itemsize % (vector_bits() // 8) == 0)


@pytest.mark.skipif(not host().is_x86, reason="stores around the caches are x86's")
def test_only_large_outputs_that_are_not_read_are_stored_around_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    gema = batch.kernel(read_text("gema"), wg_size=8, defines={"real": "double"})
    ldus = batch.kernel(read_text("ldus"), wg_size=8, defines={"real": "double"})
    a = np.ones((64, 8, 8)) + 8 * np.eye(8)
    out = aligned(a.shape, np.float64)
    gema(a, a, out)
    assert not any(layout.streaming for layout in gema.compiled)
    monkeypatch.setattr("drawloom.batch.compile.last_cache_bytes", lambda: out.nbytes)
    gema(a, a, out)
    assert any(layout.streaming for layout in gema.compiled)
    assert np.array_equal(out, 2 * a)
    ldus(out)
    assert not any(layout.streaming for layout in ldus.compiled)
