# SPDX-License-Identifier: Apache-2.0
"""Operands, and what their product may be: computed by NumPy in a wider type, with the bound of docs/accuracy.md."""
import ml_dtypes
import numpy as np

FLOATS = [np.dtype(t) for t in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)]
COMPLEX = [np.dtype(t) for t in (np.complex128, np.complex64)]
EIGHT_BITS = [np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
INTEGERS = [np.dtype(t) for t in ("int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool")]
UNIT = {"float64": 2.0**-53, "complex128": 2.0**-53}  # of the type that sums; 2^-24 for the others
RESULT_UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def operand(random, shape, dtype):
    """Random elements: of all bits for integers, N(0, 1) otherwise."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return np.asarray(values).astype(dtype)


def check(a, b, c, result=None):
    """c is a @ b, exactly for integers, within the bound for others, of NumPy's type or `result`."""
    expected_type = np.dtype(result) if result is not None else np.promote_types(a.dtype, b.dtype)
    assert c.dtype == expected_type
    if expected_type.kind in "iub":
        # numpy.matmul of integers is exact modulo 2^w; of bool it asks whether any product is true.
        exact = np.matmul(a.astype(expected_type), b.astype(expected_type))
        np.testing.assert_array_equal(c, exact)
        return
    wide = np.clongdouble if expected_type.kind == "c" else np.longdouble
    exact = np.matmul(a.astype(wide), b.astype(wide))
    assert c.shape == exact.shape
    k = a.shape[-1]
    unit = UNIT.get(np.promote_types(a.dtype, b.dtype).name, 2.0**-24)
    gamma = (k + 2) * unit / (1 - (k + 2) * unit)
    # |re| + |im| of the factors bounds both parts of a complex product; one more rounding of each is in k + 2.
    size = np.matmul(_size(a), _size(b))
    allowed = gamma * size * (2 if expected_type.kind == "c" else 1)
    allowed = allowed + RESULT_UNIT.get(expected_type.name, 0) * (np.abs(exact) + allowed) + 2.0**-24
    if expected_type.name not in RESULT_UNIT:
        allowed = allowed - 2.0**-24
    difference = c.astype(wide) - exact
    assert np.all(np.abs(difference) <= allowed), (np.max(np.abs(difference) - allowed), a.shape, b.shape)


def _size(x):
    x = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    return np.abs(x.real) + np.abs(x.imag)
