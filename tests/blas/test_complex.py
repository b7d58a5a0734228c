# SPDX-License-Identifier: Apache-2.0
"""Complex routines beyond netlib's testers: conjugates over several blocks, batches, triangles, diagonals of Hermitian
matrices. Parts are small whole numbers, so every right answer is exact."""
import ctypes

import numpy as np
import pytest
from test_products import COLUMNS, LEFT, LOWER, NON_UNIT, ORDERS, PLAIN, ROWS, TRANSPOSED, UPPER, at, ints, ours, whole

CONJUGATED = 113
KINDS = [("c", np.complex64, ctypes.c_float), ("z", np.complex128, ctypes.c_double)]
OPS = {PLAIN: lambda x: x, TRANSPOSED: lambda x: x.T, CONJUGATED: lambda x: x.conj().T}


def parts(shape, dtype, order="F", seed=0):
    return np.asarray(whole(shape, dtype, "F", seed) + 1j * whole(shape, dtype, "F", seed + 50), dtype, order=order)


def scalar(value, dtype):
    return np.array([value], dtype)


def ld(matrix, order):
    return matrix.shape[1] if order == ROWS else matrix.shape[0]


@pytest.mark.parametrize("letter,dtype,_", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
@pytest.mark.parametrize("name", ("gemm", "gemm3m", "gemmtr"))
def test_products_with_every_pair_of_operations(name, order, layout, letter, dtype, _):
    m, n, k = (45, 45, 29) if name == "gemmtr" else (45, 37, 29)
    alpha, beta = scalar(2 - 1j, dtype), scalar(1 + 1j, dtype)
    for ta, op_a in OPS.items():
        for tb, op_b in OPS.items():
            a = parts((m, k) if ta == PLAIN else (k, m), dtype, layout, 1)
            b = parts((k, n) if tb == PLAIN else (n, k), dtype, layout, 2)
            c = parts((m, n), dtype, layout, 3)
            expected = alpha * (op_a(a) @ op_b(b)) + beta * c
            sizes = (m, n, k)
            if name == "gemmtr":
                expected = np.where(np.tril(np.ones((n, n), bool)), expected, c)
                sizes = (n, k)
            first = (order, LOWER) if name == "gemmtr" else (order,)
            getattr(ours, f"cblas_{letter}{name}")(*first, ta, tb, *sizes, at(alpha), at(a), ld(a, order), at(b), ld(b, order),
                                                   at(beta), at(c), ld(c, order))
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("letter,dtype,_", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
def test_matrix_times_vector(order, layout, letter, dtype, _):
    m, n = 23, 31
    alpha, beta = scalar(1 - 2j, dtype), scalar(-1j, dtype)
    for trans, op in OPS.items():
        a = parts((m, n), dtype, layout, 1)
        x, y = (parts(size, dtype, seed=size) for size in op(a).shape[::-1])
        expected = alpha * (op(a) @ x) + beta * y
        getattr(ours, f"cblas_{letter}gemv")(order, trans, m, n, at(alpha), at(a), ld(a, order), at(x), 1, at(beta), at(y), 1)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
@pytest.mark.parametrize("triangle", (UPPER, LOWER))
def test_hermitian_updates_over_several_blocks(triangle, order, layout, letter, dtype, number):
    n, k = 301, 23
    keep = (np.triu if triangle == UPPER else np.tril)(np.ones((n, n), bool))
    for trans in (PLAIN, CONJUGATED):
        a, b = (parts((n, k) if trans == PLAIN else (k, n), dtype, layout, seed) for seed in (1, 2))
        x, y = (z if trans == PLAIN else z.conj().T for z in (a, b))
        alpha = scalar(2 + 1j, dtype)
        for two in (False, True):
            c = parts((n, n), dtype, layout, 3)
            start = c.copy()
            np.fill_diagonal(start, start.diagonal().real)  # what lies beside a diagonal's real part does not count
            product = alpha * (x @ y.conj().T) + np.conj(alpha) * (y @ x.conj().T) if two else 3 * (x @ x.conj().T)
            expected = np.where(keep, product - start, c)
            if two:
                getattr(ours, f"cblas_{letter}her2k")(order, triangle, trans, n, k, at(alpha), at(a), ld(a, order), at(b),
                                                      ld(b, order), number(-1), at(c), n)
            else:
                getattr(ours, f"cblas_{letter}herk")(order, triangle, trans, n, k, number(3), at(a), ld(a, order), number(-1),
                                                     at(c), n)
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("letter,dtype,_", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
def test_triangles_with_every_operation(order, layout, letter, dtype, _):
    n, others = 75, 41
    one = scalar(1, dtype)
    for side in (LEFT, LEFT + 1):
        for triangle in (UPPER, LOWER):
            band = np.eye(n, k=1 if triangle == UPPER else -1) * 1j  # two diagonals: the numbers of B stay small
            a = np.asarray(band + np.diag(np.where(np.arange(n) % 2, 1, -1j)), dtype, order=layout)
            for trans, op in OPS.items():
                x = parts((n, others) if side == LEFT else (others, n), dtype, layout, 7)
                product = np.asarray(op(a) @ x if side == LEFT else x @ op(a), dtype, order=layout)
                for routine, start, end in (("trmm", x, product), ("trsm", product, x)):
                    b = start.copy(layout)
                    getattr(ours, f"cblas_{letter}{routine}")(order, side, triangle, trans, NON_UNIT, *b.shape, at(one), at(a), n,
                                                              at(b), ld(b, order))
                    np.testing.assert_array_equal(b, end)


@pytest.mark.parametrize("letter,dtype,_", KINDS)
def test_batches(letter, dtype, _):
    n, count = 5, 4
    alpha, beta = scalar(1j, dtype), scalar(2, dtype)
    a, b, c = (np.stack([parts((n, n), dtype, "C", seed + p) for p in range(count)]) for seed in (0, 10, 20))
    expected = alpha * (a @ b.conj().transpose(0, 2, 1)) + beta * c
    strided = c.copy()
    getattr(ours, f"cblas_{letter}gemm_batch_strided")(ROWS, PLAIN, CONJUGATED, n, n, n, at(alpha), at(a), n, n * n, at(b), n,
                                                       n * n, at(beta), at(strided), n, n * n, count)
    np.testing.assert_array_equal(strided, expected)
    pointers = lambda x: (ctypes.c_void_p * count)(*(p.ctypes.data for p in x))
    getattr(ours, f"cblas_{letter}gemm_batch")(ROWS, ints(PLAIN), ints(CONJUGATED), ints(n), ints(n), ints(n), at(alpha),
                                               pointers(a), ints(n), pointers(b), ints(n), at(beta), pointers(c), ints(n), 1,
                                               ints(count))
    np.testing.assert_array_equal(c, expected)
