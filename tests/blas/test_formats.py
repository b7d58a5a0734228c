# SPDX-License-Identifier: Apache-2.0
"""cblas_sbgemm, cblas_gemm_s8u8s32 and MKL's packed operands."""
import ctypes
import subprocess
import sys

import numpy as np
import pytest
from support import LIBRARY
from test_products import COLUMNS, KINDS, ORDERS, PLAIN, ROWS, TRANSPOSED, at, ours, whole

A_MATRIX, B_MATRIX, PACKED = 161, 162, 151
ROW_OFFSET, COLUMN_OFFSET, FIX_OFFSET = 171, 172, 173  # as MKL's header numbers them
for letter in "sd":
    getattr(ours, f"cblas_{letter}gemm_pack_get_size").restype = ctypes.c_size_t


def ld(matrix, order):
    return matrix.shape[1] if order == ROWS else matrix.shape[0]


def turned(matrix, trans, layout):
    return np.asarray(matrix if trans == PLAIN else matrix.T, order=layout)


@pytest.mark.parametrize("order,layout", ORDERS)
def test_bfloat16_with_sums_in_float(order, layout):
    m, n, k = 17, 21, 40
    a, b, c = whole((m, k), np.float32, layout, 1), whole((k, n), np.float32, layout, 2), whole((m, n), np.float32, layout, 3)
    codes = lambda x: np.asarray(x.view(np.uint32) >> 16, np.uint16, order=layout)  # whole numbers below 256 are exact
    expected = 2 * (a @ b) - c
    f = ctypes.c_float
    for ta in (PLAIN, TRANSPOSED):
        for tb in (PLAIN, TRANSPOSED):
            p, q, got = codes(turned(a, ta, layout)), codes(turned(b, tb, layout)), c.copy(layout)
            ours.cblas_sbgemm(order, ta, tb, m, n, k, f(2), at(p), ld(p, order), at(q), ld(q, order), f(-1), at(got), ld(c, order))
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("order,layout", ORDERS)
@pytest.mark.parametrize("kind", (ROW_OFFSET, COLUMN_OFFSET, FIX_OFFSET))
@pytest.mark.parametrize("alpha,beta", ((1, 0), (0.5, 0.25), (1e6, 1)))
def test_bytes_with_offsets(alpha, beta, kind, order, layout):
    m, n, k, ao, bo = 19, 530, 70, -7, 100
    random = np.random.default_rng(1)
    # by columns A is signed and B is not; by rows it is the other way round
    signs = ((np.int8, np.uint8) if order == COLUMNS else (np.uint8, np.int8))
    a, b = (np.asarray(random.integers(np.iinfo(t).min, np.iinfo(t).max + 1, s), t) for t, s in zip(signs, ((m, k), (k, n))))
    c = np.asarray(random.integers(-999, 999, (m, n)), np.int32, order=layout)
    co = np.asarray(random.integers(-999, 999, {ROW_OFFSET: n, COLUMN_OFFSET: m, FIX_OFFSET: 1}[kind]), np.int32)
    exact = alpha * ((a.astype(int) + ao) @ (b.astype(int) + bo)) + beta * c + (co[:, None] if kind == COLUMN_OFFSET else co)
    expected = np.clip(np.rint(exact), -(2**31), 2**31 - 1).astype(np.int32)
    f, i8 = ctypes.c_float, ctypes.c_int8
    for ta in (PLAIN, TRANSPOSED):
        for tb in (PLAIN, TRANSPOSED):
            p, q, got = turned(a, ta, layout), turned(b, tb, layout), c.copy(layout)
            ours.cblas_gemm_s8u8s32(order, ta, tb, kind, m, n, k, f(alpha), at(p), ld(p, order), i8(ao), at(q), ld(q, order),
                                    i8(bo), f(beta), at(got), ld(c, order), at(co))
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
@pytest.mark.parametrize("trans", (PLAIN, TRANSPOSED))
def test_packed_operands_stand_for_themselves(trans, order, layout, letter, dtype, number):
    m, n, k = 33, 29, 50
    a, b, c = whole((m, k), dtype, layout, 1), whole((k, n), dtype, layout, 2), whole((m, n), dtype, layout, 3)
    size, pack, compute = (getattr(ours, f"cblas_{letter}gemm_{x}") for x in ("pack_get_size", "pack", "compute"))

    def packed(which, matrix, alpha):
        source = turned(matrix, trans, layout).copy(layout)
        memory = np.zeros(size(which, m, n, k), np.uint8)
        pack(order, which, trans, m, n, k, number(alpha), at(source), ld(source, order), at(memory))
        source[:] = np.nan  # it may go
        return memory

    of_a, of_b = packed(A_MATRIX, a, 3), packed(B_MATRIX, b, 2)
    for ta, tb, p, q, factor in ((PACKED, PLAIN, of_a, b, 3), (PLAIN, PACKED, a, of_b, 2), (PACKED, PACKED, of_a, of_b, 6)):
        got = c.copy(layout)
        compute(order, ta, tb, m, n, k, at(p), ld(a, order), at(q), ld(b, order), number(-1), at(got), ld(c, order))
        np.testing.assert_array_equal(got, factor * (a @ b) - c)


@pytest.mark.parametrize("call,number", (
    ("cblas_sgemm_pack(101, 7, 111, 1, 1, 1, f(1), None, 1, None)", 2), ("cblas_sgemm_pack(101, 161, 111, 2, 1, 3, f(1), None, 2, None)", 9),
    ("cblas_sgemm_compute(101, 5, 151, 1, 1, 1, None, 1, None, 1, f(0), None, 1)", 2),
    ("cblas_sgemm_compute(101, 151, 151, 1, 2, 1, None, 1, None, 1, f(0), None, 1)", 13),
    ("cblas_sgemm_pack_get_size(161, 1, -1, 1)", 3),
    ("cblas_gemm_s8u8s32(102, 111, 111, 9, 1, 1, 1, f(1), None, 1, i8(0), None, 1, i8(0), f(0), None, 1, None)", 4),
    ("cblas_gemm_s8u8s32(102, 111, 111, 171, 2, 1, 1, f(1), None, 2, i8(0), None, 1, i8(0), f(0), None, 1, None)", 17)))
def test_bad_parameters_are_named(call, number):
    code = f"import ctypes; f, i8 = ctypes.c_float, ctypes.c_int8; ctypes.CDLL({LIBRARY!r}).{call}; print('came back')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"Parameter {number} to routine {call.split('(')[0]} was" in done.stderr, done.stderr
