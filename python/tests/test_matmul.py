# SPDX-License-Identifier: Apache-2.0
"""exactile.matmul against numpy.matmul: shapes, types, strides, out, and what both refuse."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays
from support import COMPLEX, EIGHT_BITS, FLOATS, INTEGERS, check, operand

import exactile

SHAPES = [((3, 4), (4, 5)), ((1, 1), (1, 1)), ((64, 64), (64, 64)), ((65, 33), (33, 129)), ((4,), (4, 5)),
          ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)),
          ((7, 2, 3, 4), (1, 2, 4, 1)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)), ((0,), (0,)),
          ((0, 3, 4), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((5, 1, 2, 3, 4), (4, 1, 4, 2))]


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX + INTEGERS, ids=str)
def test_types(random, dtype):
    for rows, columns, inner in ((3, 5, 4), (33, 17, 65), (1, 40, 300)):
        a, b = operand(random, (rows, inner), dtype), operand(random, (inner, columns), dtype)
        check(a, b, exactile.matmul(a, b))


@pytest.mark.parametrize("shape_a, shape_b", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32], ids=str)
def test_shapes(random, shape_a, shape_b, dtype):
    a, b = operand(random, shape_a, dtype), operand(random, shape_b, dtype)
    c = exactile.matmul(a, b)
    assert type(c) is type(np.matmul(a, b))
    check(a, b, c)


@given(shapes=arrays.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=4, max_side=6),
       dtype=st.sampled_from(FLOATS + COMPLEX + INTEGERS), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_any_shape_and_stride(shapes, dtype, seed, data):
    random = np.random.default_rng(seed)
    a, b = (strided(operand(random, shape, dtype), data) for shape in shapes.input_shapes)
    c = exactile.matmul(a, b)
    assert c.shape == shapes.result_shape
    check(np.ascontiguousarray(a), np.ascontiguousarray(b), c)


def strided(array, data):
    """The same elements in another order of memory: with gaps, backwards, axes exchanged."""
    order = data.draw(st.permutations(range(array.ndim)))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in order]
    room = np.zeros([array.shape[axis] * abs(step) for axis, step in zip(order, steps)], array.dtype)
    view = room[tuple(slice(None, None, step) for step in steps)].transpose(np.argsort(order))
    view[...] = array
    return view


def test_strides_are_taken_as_they_are(random):
    a = operand(random, (40, 60), np.float32)
    large = np.broadcast_to(a[0], (10**6, 60))  # 240 MB if it were copied
    c = exactile.matmul(large, operand(random, (60, 1), np.float32))
    assert c.shape == (10**6, 1) and np.all(c == c[0])


@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.int32, np.float32), (np.int8, np.int64),
                                   (np.float16, np.float32), (ml_dtypes.bfloat16, np.float32),
                                   (np.float32, np.complex64), (np.uint8, np.int8), (bool, np.float64)], ids=str)
def test_two_types(random, types):
    a, b = operand(random, (5, 7), types[0]), operand(random, (7, 3), types[1])
    common = np.promote_types(*types)
    check(a.astype(common), b.astype(common), exactile.matmul(a, b))


@pytest.mark.parametrize("dtype, result", [(np.float16, np.float32), (ml_dtypes.bfloat16, np.float32),
                                           (np.int8, np.int32), (np.uint8, np.int32), (np.int16, np.int32),
                                           (np.int32, np.int64), *((t, np.float32) for t in EIGHT_BITS),
                                           *((t, ml_dtypes.bfloat16) for t in EIGHT_BITS)], ids=str)
def test_wider_results(random, dtype, result):
    a, b = operand(random, (9, 100), dtype), operand(random, (100, 11), dtype)
    c = exactile.matmul(a, b, dtype=result)
    check(a, b, c, result) if np.dtype(dtype).kind not in "iu" else check(a.astype(result), b.astype(result), c)
    out = np.empty((9, 11), result)
    assert exactile.matmul(a, b, out=out) is out
    assert out.tobytes() == c.tobytes()
    if np.dtype(dtype) in EIGHT_BITS:
        assert exactile.matmul(a, b).dtype == np.float32


@pytest.mark.parametrize("types", [(np.uint8, np.int8), (np.int8, np.uint8)], ids=str)
def test_bytes_of_both_signs(random, types):
    a, b = operand(random, (9, 1000), types[0]), operand(random, (1000, 11), types[1])
    check(a.astype(np.int32), b.astype(np.int32), exactile.matmul(a, b, dtype=np.int32))
    check(a.astype(np.int16), b.astype(np.int16), exactile.matmul(a, b))


def kernel_types(a, b, **options):
    return exactile.explain(a, b, **options).data["types"]


def test_small_integers_are_not_converted():
    u8, i8, i16, i32, flags = (np.zeros((3, 3), t) for t in (np.uint8, np.int8, np.int16, np.int32, bool))
    assert kernel_types(u8, u8) == kernel_types(u8, u8, dtype=np.int32) == "u8->i32"
    assert kernel_types(u8, i8) == kernel_types(u8, i8, dtype=np.int32) == "u8xi8->i32"
    assert kernel_types(i8, u8, dtype=np.int32) == "i8xu8->i32"
    assert kernel_types(i16, i16) == kernel_types(i16, i8, dtype=np.int32) == "i16->i32"
    assert kernel_types(flags, flags) == "u8->i32"
    assert kernel_types(i32, i32) == "i32" and kernel_types(i32, i32, dtype=np.int64) == "i32->i64"


def test_backends_without_small_integers_have_them_converted():
    from exactile._types import on_processor, types_of

    assert types_of("uint8", "int32", on_processor(True, "cuda")).inputs == "int32"
    assert types_of("uint8", "int32", on_processor(False, "auto")).inputs == "int32"
    assert types_of("uint8", "int32", on_processor(True, "cpu")).inputs == "uint8"


def test_dtype_converts_the_operands(random):
    a, b = operand(random, (4, 5), np.float64), operand(random, (5, 6), np.float64)
    c = exactile.matmul(a, b, dtype=np.float32)
    check(a.astype(np.float32), b.astype(np.float32), c)
    with pytest.raises(TypeError, match="same_kind"):
        exactile.matmul(a, b, dtype=np.int32)


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.complex64], ids=str)
def test_other_byte_order_and_alignment(random, dtype):
    a, b = operand(random, (4, 5), dtype), operand(random, (5, 6), dtype)
    check(a, b, exactile.matmul(a.astype(a.dtype.newbyteorder()), b))
    records = np.zeros(20, [("odd", "u1"), ("value", dtype)])
    records["value"] = a.ravel()
    check(a, b, exactile.matmul(records["value"].reshape(4, 5), b))


def test_lists_and_derived_classes(random):
    assert exactile.matmul([[1, 2]], [[3], [4]]).tolist() == [[11]]
    masked = np.ma.array([[1.0, 2.0]])  # of a class derived from ndarray
    np.testing.assert_array_equal(exactile.matmul(masked, [[3.0], [4.0]]), [[11.0]])


def test_inputs_are_only_read(random):
    a, b = operand(random, (4, 5), np.float64), operand(random, (5, 6), np.float64)
    a.flags.writeable = b.flags.writeable = False
    check(a, b, exactile.matmul(a, b))


@pytest.mark.parametrize("out", [np.empty((3, 5), np.float32), np.empty((5, 3), np.float32).T,
                                 np.empty((6, 10), np.float32)[::-2, ::2], np.empty((3, 5), np.float64),
                                 np.empty((3, 5), ">f4")], ids=lambda out: f"{out.strides}{out.dtype}")
def test_out(random, out):
    a, b = operand(random, (3, 4), np.float32), operand(random, (4, 5), np.float32)
    out[...] = np.nan
    assert exactile.matmul(a, b, out=out) is out
    check(a, b, out.astype(np.float32))
    before = out.astype(np.float32)
    exactile.matmul(a, b, out=out, alpha=2, beta=0.5)
    np.testing.assert_allclose(out, 2 * before + 0.5 * before, rtol=1e-5)


def test_out_is_refused(random):
    a = operand(random, (4, 4), np.float32)
    with pytest.raises(ValueError, match="share"):
        exactile.matmul(a, a, out=a)
    with pytest.raises(ValueError, match=r"out has shape \(4, 5\): expected \(4, 4\)"):
        exactile.matmul(a, a, out=np.empty((4, 5), np.float32))
    with pytest.raises(TypeError, match="same_kind"):
        exactile.matmul(a, a, out=np.empty((4, 4), np.int32))
    with pytest.raises(TypeError, match="out is of type list"):
        exactile.matmul(a, a, out=[])
    frozen = np.empty((4, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        exactile.matmul(a, a, out=frozen)
    with pytest.raises(ValueError, match="beta is given without out"):
        exactile.matmul(a, a, beta=1)


@pytest.mark.parametrize("shape_a, shape_b", [((), (4,)), ((4,), ()), ((3, 4), (5, 6)), ((4,), (5,)), ((3, 4), (5,)),
                                              ((2, 3, 4), (3, 4, 5)), ((4,), (2, 5, 6))], ids=str)
def test_shapes_that_do_not_fit(shape_a, shape_b):
    a, b = np.zeros(shape_a), np.zeros(shape_b)
    with pytest.raises(ValueError):
        np.matmul(a, b)
    with pytest.raises(ValueError, match="^matmul: (a|b) has"):
        exactile.matmul(a, b)


@pytest.mark.parametrize("array", [np.array([[object()]]), np.zeros((2, 2), [("x", "f4")]), np.array([["text"]]),
                                   np.zeros((2, 2), "M8[s]"), np.zeros((2, 2), np.longdouble)],
                         ids=lambda array: str(array.dtype))
def test_types_that_are_refused(array):
    with pytest.raises(TypeError, match="cannot be multiplied"):
        exactile.matmul(array, array)


def test_epilogue(random):
    a, b = operand(random, (6, 7), np.float32), operand(random, (7, 8), np.float32)
    bias, rows, columns = (operand(random, n, np.float32) for n in (8, 6, 8))
    product = a.astype(float) @ b
    expected = np.maximum(2 * product * rows[:, None] * columns + bias, 0)
    c = exactile.matmul(a, b, alpha=2, bias=bias, activation="relu", row_scales=rows, column_scales=columns)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)
    by_row = operand(random, (6, 1), np.float32)
    np.testing.assert_allclose(exactile.matmul(a, b, bias=by_row), product + by_row, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(exactile.matmul(a, b, bias=bias.astype(float)[::-1]), product + bias[::-1], rtol=1e-5,
                               atol=1e-5)
    with pytest.raises(ValueError, match=r"bias has shape \(7,\): expected \(8,\)"):
        exactile.matmul(a, b, bias=np.zeros(7))
    with pytest.raises(ValueError, match="row_scales has shape"):
        exactile.matmul(a, b, row_scales=columns)


@pytest.mark.parametrize("keywords, kind, says",
                         [({"accuracy": "exact"}, ValueError, "accuracy = 'exact'"),
                          ({"backend": "abacus"}, ValueError, "backend = 'abacus'"),
                          ({"activation": "tanh"}, ValueError, "activation = 'tanh'"),
                          ({"threads": 0}, ValueError, "threads = 0"),
                          ({"accuracy": 3}, TypeError, "accuracy: expected a str, not int"),
                          ({"activation": 3}, TypeError, "activation: expected a str, not int"),
                          ({"threads": "2"}, TypeError, "threads: expected None or an integer, not str"),
                          ({"reproducible": 1}, TypeError, "reproducible: expected a bool, not int"),
                          ({"alpha": "2"}, TypeError, "alpha: expected a real number, not str"),
                          ({"beta": None}, TypeError, "beta: expected a real number, not NoneType"),
                          ({"backend": "cuda"}, RuntimeError, "(?i)cuda")], ids=str)
def test_arguments_that_are_refused(keywords, kind, says):
    if keywords.get("backend") == "cuda" and any(d["available"] and d["backend"] == "cuda" for d in exactile.devices()):
        pytest.skip("there is a CUDA device")
    with pytest.raises(kind, match=says):
        exactile.matmul(np.eye(3), np.eye(3), **keywords)


@pytest.mark.parametrize("call, says",
                         [(lambda a: exactile.matmul(a, a, accurracy="reduced"),
                           r"matmul\(\) got an unexpected keyword argument 'accurracy'"),
                          (lambda a: exactile.matmul(a), r"matmul\(\) missing 1 required positional argument: 'b'"),
                          (lambda a: exactile.matmul(), r"missing 2 required positional arguments: 'a' and 'b'"),
                          (lambda a: exactile.matmul(a, a, a), "takes 2 positional arguments but 3 were given"),
                          (lambda a: exactile.matmul(a, b=a), "positional-only arguments passed as keyword .*: 'b'"),
                          (lambda a: exactile.Plan(a, a, accurracy=""), "unexpected keyword argument 'accurracy'"),
                          (lambda a: exactile.kernels(backend="cpu"), "unexpected keyword argument 'backend'"),
                          (lambda a: exactile.set_threads("2"), "count: expected None or an integer, not str")],
                         ids=range(8))
def test_calls_that_python_would_refuse(call, says):
    with pytest.raises(TypeError, match=says):
        call(np.eye(3))


def test_keywords_made_at_run_time():
    name = "".join(["o", "u", "t"])  # not interned
    out = np.empty((3, 3))
    assert exactile.matmul(np.eye(3), np.eye(3), **{name: out}) is out


def test_activations_of_integers():
    a, b = np.array([[-3, 2]], np.int32), np.array([[1], [1]], np.int32)
    assert exactile.matmul(a, b, activation="relu")[0, 0] == 0
    assert exactile.matmul(-a, b, activation="relu")[0, 0] == 1
    with pytest.raises(TypeError, match="uint64, which have no sign"):
        exactile.matmul(a.astype(np.uint64), b.astype(np.uint64), activation="relu")


def test_integers_take_integers_only():
    a = np.eye(3, dtype=np.int64)
    assert exactile.matmul(a, a, alpha=2**62)[0, 0] == 2**62
    with pytest.raises(TypeError, match="alpha: expected an integer"):
        exactile.matmul(a, a, alpha=0.5)
