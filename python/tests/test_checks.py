# SPDX-License-Identifier: Apache-2.0
"""error_bound(), verify() and what the package says of itself."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from support import COMPLEX, EIGHT_BITS, FLOATS, INTEGERS, operand

import exactile


@given(dtype=st.sampled_from(FLOATS + COMPLEX + EIGHT_BITS), m=st.integers(1, 20), n=st.integers(1, 20),
       k=st.integers(0, 300), seed=st.integers(0, 2**32 - 1))
def test_products_keep_their_bound(dtype, m, n, k, seed):
    random = np.random.default_rng(seed)
    a, b = operand(random, (m, k), dtype), operand(random, (k, n), dtype)
    c = exactile.matmul(a, b)
    wide = np.clongdouble if dtype.kind == "c" else np.longdouble
    error = np.abs(c.astype(wide) - np.matmul(a.astype(wide), b.astype(wide)))
    bound, cheap = exactile.error_bound(a, b), exactile.error_bound(a, b, cheap=True)
    assert bound.shape == cheap.shape == c.shape
    assert np.all(error <= bound)
    assert np.all(bound <= cheap * (1 + 1e-12))


def test_bound_is_sharp_and_of_the_accuracy():
    a = np.ones((1, 4))
    assert exactile.error_bound(a, a.T)[0, 0] == pytest.approx(4 * 7 * 2.0**-53)
    a = a.astype(np.float32)
    reduced = exactile.error_bound(a, a.T, accuracy="reduced")[0, 0]
    assert reduced == pytest.approx(4 * (2.0**-9 + 2.0**-20 + 7 * 2.0**-24))
    assert exactile.error_bound(a, a.T, accuracy="correctly_rounded")[0, 0] == pytest.approx(4 * 2.0**-24)
    half = a.astype(np.float16)
    rounded, unrounded = (exactile.error_bound(half, half.T, dtype=t)[0, 0] for t in ("f2", "f4"))
    assert rounded > 4 * 2.0**-11 > unrounded


@pytest.mark.parametrize("accuracy", ["compensated", "correctly_rounded"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16, np.complex64], ids=str)
def test_products_that_are_rounded_once(random, dtype, accuracy):
    a, b = operand(random, (20, 300), dtype), operand(random, (300, 10), dtype)
    c = exactile.matmul(a, b, accuracy=accuracy)
    wide = np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble
    exact = np.matmul(a.astype(wide), b.astype(wide))
    bound = exactile.error_bound(a, b, accuracy=accuracy)
    # The last bits of the exact result are not known either where it is of float64.
    own = 300 * float(np.finfo(np.longdouble).eps) * np.matmul(np.abs(a.astype(wide)), np.abs(b.astype(wide)))
    assert np.all(np.abs(c.astype(wide) - exact) <= bound + own)
    assert np.all(bound <= exactile.error_bound(a, b)) or np.dtype(dtype).itemsize == 2
    assert exactile.verify(a, b, c, accuracy=accuracy)


def test_reproducible_rows(random):
    a, b = operand(random, (40, 300), np.float32), operand(random, (300, 50), np.float32)
    c = exactile.matmul(a, b, reproducible=True)
    for row in (0, 17, 39):
        assert exactile.matmul(a[row:row + 1], b, reproducible=True).tobytes() == c[row].tobytes()
    assert exactile.Plan(a, b, reproducible=True)(a, b).tobytes() == c.tobytes()


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)),
                                    ((2, 1, 3, 4), (6, 4, 5)), ((3, 0), (0, 2))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int16], ids=str)
def test_shapes(random, shapes, dtype):
    a, b = (operand(random, shape, dtype) for shape in shapes)
    c = exactile.matmul(a, b)
    assert np.shape(exactile.error_bound(a, b)) == np.shape(exactile.error_bound(a, b, cheap=True)) == np.shape(c)
    assert exactile.verify(a, b, c)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX + INTEGERS, ids=str)
def test_verify_sees_one_wrong_element(random, dtype):
    a, b = operand(random, (50, 60), dtype), operand(random, (60, 70), dtype)
    c = exactile.matmul(a, b)
    result = exactile.verify(a, b, c)
    assert result and result.passed and repr(result).startswith("right")
    c[20, 30] = ~c[20, 30] if dtype.kind in "iub" else c[20, 30] + 1000
    result = exactile.verify(a, b, c)
    assert not result and result.ratio > 1 and repr(result).startswith("WRONG")
    if dtype.kind == "f":
        c[20, 30] = np.nan
        assert not exactile.verify(a, b, c)


def test_verify_takes_numpy_as_it_is(random):
    a, b = operand(random, (200, 50), np.float64), operand(random, (50, 100), np.float64)
    assert exactile.verify(a, b, a @ b)
    a, b = a.astype(np.float32), b.astype(np.float32)
    assert exactile.verify(a, b, a @ b)
    # Cut to 11 bits, as tf32 is: far outside the bound of float32, within that of `reduced`.
    cut = [(x.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32) for x in (a, b)]
    assert not exactile.verify(a, b, cut[0] @ cut[1])
    assert exactile.verify(a, b, cut[0] @ cut[1], accuracy="reduced")
    with pytest.raises(ValueError, match="verify: c has shape"):
        exactile.verify(a, b, np.zeros((3, 3), np.float32))


def test_bfloat16_results_are_verified_in_their_precision(random):
    a, b = (operand(random, shape, ml_dtypes.bfloat16) for shape in ((30, 40), (40, 50)))
    assert exactile.verify(a, b, exactile.matmul(a, b))
    assert exactile.verify(a, b, exactile.matmul(a, b, dtype=np.float32))


def test_reports(capsys):
    assert any(d["backend"] == "cpu" and d["available"] for d in exactile.devices())
    assert "cpu_naive" in [k["name"] for k in exactile.kernels()]
    exactile.show_config()
    text = capsys.readouterr().out
    assert exactile.__version__ in text and "cpu" in text
    config = exactile.show_config("dicts")
    assert config["threads"] == exactile.get_threads() and config["libraries"]["numpy"] == np.__version__
    with pytest.raises(ValueError, match="mode = 'xml'"):
        exactile.show_config("xml")
    assert set(exactile.__all__) <= set(dir(exactile))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        exactile.nothing
