"""What programs and parts of them show in a notebook."""

from drawloom.lift import array, compile, float32, fun, map, map_glb, neg, size, user_function

n = size("N")


def test_a_high_level_program_shows_its_text_and_its_type() -> None:
    program = fun(array(float32, n), lambda x: map(neg, x), name="negated")
    text = program._repr_markdown_()
    assert text == "```\nnegated(x: [float]N) = map(neg, x)\n```\n`negated : [float]N → [float]N`"


def test_a_kernel_shows_its_opencl_too() -> None:
    square = user_function("float square(float x) { return x * x; }")
    program = fun(array(float32, n), array(float32, n), lambda x, y: map_glb(square, x), name="squares")
    text = program._repr_markdown_()
    assert "float square(float x) { return x * x; }\nsquares(x: [float]N, y: [float]N) = " in text
    assert "`squares : ([float]N, [float]N) → [float]N`" in text
    assert f"```c\n{compile(program).opencl}```" in text
    assert compile(program)._repr_markdown_() == f"```c\n{compile(program).opencl}```"


def test_what_is_wrong_with_a_program_is_shown_with_it() -> None:
    program = fun(array(float32, n), lambda x: neg(x))
    assert "LiftTypeError" in program._repr_markdown_()
    assert program._repr_markdown_().startswith("```\nλ x: [float]N . neg(x)\n```\n")


def test_parts_show_their_text() -> None:
    assert map(neg)._repr_markdown_() == "```\nmap(neg)\n```"
