"""FunctionBuilder: Python calls to PTX functions that print, parse and verify; what the table refuses is refused."""

from __future__ import annotations

import struct

import pytest

from drawloom.errors import VerifyError
from drawloom.ptx.builder import FunctionBuilder
from drawloom.ptx.ir import FLOAT32, FLOAT64, Function, Immediate, Module, Not, Register, Vector
from drawloom.ptx.parser import parse
from drawloom.ptx.types import B32, F16, F32, F64, PRED, S32, U32, U64


def module_of(*functions: Function) -> Module:
    module = Module()
    module.version = (8, 0)
    module.target = ["sm_80"]
    for function in functions:
        module.add(function)
    return module


def scale_kernel() -> Function:
    fb = FunctionBuilder("scale", entry=True)
    data = fb.param(U64, "data", space="global", pointee_align=4)
    count = fb.param(U32, "count")
    index = fb.op("mad.lo.u32", fb.op("mov.u32", "%ctaid.x"), fb.op("mov.u32", "%ntid.x"), fb.op("mov.u32", "%tid.x"))
    outside = fb.op("setp.ge.u32", index, fb.load_param(count))
    done = fb.new_label("done")
    fb.branch(done, guard=outside)
    address = fb.op("add.u64", fb.load_param(data), fb.op("mul.wide.u32", index, 4))
    fb.emit("st.global.f32", fb.at(address), fb.op("mul.f32", fb.op("ld.global.f32", address), 2.5))
    fb.label(done)
    fb.emit("ret")
    return fb.finish()


def test_a_built_kernel_prints_and_parses_back_to_itself() -> None:
    module = module_of(scale_kernel())
    text = str(module)
    assert str(parse(text)) == text
    assert ", 0f40200000;" in text
    assert "bra done_0;" in text


def test_destinations_get_the_type_of_the_form() -> None:
    fb = FunctionBuilder("k", entry=True)
    a = fb.reg(U32)
    assert fb.op("mul.wide.u32", a, 3).type is U64
    assert fb.op("setp.lt.s32", fb.reg(S32), 0).type is PRED
    assert fb.op("ld.global.u8", fb.reg(U64)).type.bits == 16
    assert fb.op("cvt.rn.f16.f32", fb.reg(F32)).type is F16
    assert fb.op("vote.sync.ballot.b32", fb.reg(PRED), -1).type is B32
    assert [r.type for r in fb.ops("ld.global.v4.f32", fb.reg(U64))] == [F32] * 4
    assert [r.type for r in fb.ops("shfl.sync.up.b32", a, 1, 0, -1)] == [B32, PRED]


def test_numbers_become_literals_of_the_operand_type() -> None:
    fb = FunctionBuilder("k", entry=True)
    one = fb.emit("add.f32", fb.reg(F32), fb.reg(F32), 1).operands[2]
    assert isinstance(one, Immediate)
    assert (one.kind, one.value) == (FLOAT32, 0x3F800000)
    tenth = fb.emit("add.f64", fb.reg(F64), fb.reg(F64), 0.1).operands[2]
    assert isinstance(tenth, Immediate)
    assert (tenth.kind, struct.pack("<Q", tenth.value)) == (FLOAT64, struct.pack("<d", 0.1))
    pair = fb.emit("mov.b64", fb.reg(U64), [fb.reg(U32), 7]).operands[1]
    assert isinstance(pair, Vector)
    assert isinstance(pair.elements[1], Immediate)
    fb.emit("and.pred", fb.reg(PRED), fb.reg(PRED), Not(fb.reg(PRED)))


def test_calls_pass_scalars_through_param_variables() -> None:
    callee = FunctionBuilder("twice")
    out = callee.result(U32)
    x = callee.param(U32, "x")
    callee.emit("st.param.u32", out, callee.op("shl.b32", callee.load_param(x), 1))
    callee.emit("ret")
    function = callee.finish()
    caller = FunctionBuilder("k", entry=True)
    results = caller.call(function, 21)
    assert [r.type for r in results] == [U32]
    caller.emit("ret")
    text = str(module_of(function, caller.finish()))
    assert "call.uni (param_result_1), twice, (param_x_0);" in text
    assert parse(text)


def refused(fb: FunctionBuilder, opcode: str, *operands: object) -> str:
    with pytest.raises(VerifyError) as caught:
        fb.emit(opcode, *operands)  # type: ignore[arg-type]
    return str(caught.value)


def test_refuses_what_the_table_refuses() -> None:
    fb = FunctionBuilder("k", entry=True)
    word: Register = fb.reg(U32)
    real: Register = fb.reg(F32)
    assert "operand 1 of 'add.u32' is a .f32 register" in refused(fb, "add.u32", real, word, word)
    assert "unknown opcode 'adb'" in refused(fb, "adb.u32", word, word, word)
    assert "has 2 operands" in refused(fb, "add.u32", word, word)
    assert "an integer of 32 bits" in refused(fb, "add.u32", word, word, 1 << 32)
    assert "1.5" in refused(fb, "add.u32", word, word, 1.5)
    assert "barrier 16" in refused(fb, "bar.sync", 16)
    assert "64-bit base register" in refused(fb, "ld.global.u32", word, word)
    assert "no special register" in refused(fb, "mov.u32", word, "%nosuch")
    assert fb.function.body == []
    with pytest.raises(VerifyError, match="guard"):
        fb.emit("add.u32", word, word, word, guard=word)


def test_refuses_missing_labels_and_open_ends() -> None:
    fb = FunctionBuilder("k", entry=True)
    fb.branch("nowhere")
    with pytest.raises(VerifyError, match="'nowhere' is used by 'bra' and never placed"):
        fb.finish()
    fb.label("nowhere")
    with pytest.raises(VerifyError, match="runs off its end"):
        fb.finish()
    with pytest.raises(VerifyError, match="defined twice"):
        fb.label("nowhere")
    fb.emit("ret")
    assert fb.finish().name == "k"
