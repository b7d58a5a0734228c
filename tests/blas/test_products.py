# SPDX-License-Identifier: Apache-2.0
"""What netlib's testers do not reach: batches, gemmtr, sizes over several blocks, special values, threads and fork.

Matrices hold small whole numbers, so that every right answer is exact, whatever the order of the sums."""
import ctypes
import os
import threading

import numpy as np
import pytest
from support import LIBRARY, other_blas

os.environ["EXACTILE_BLAS_FALLBACK"] = other_blas()
ours = ctypes.CDLL(LIBRARY)
reference = ctypes.CDLL(other_blas())
ROWS, COLUMNS, PLAIN, TRANSPOSED, UPPER, LOWER, NON_UNIT, UNIT, LEFT, RIGHT = 101, 102, 111, 112, 121, 122, 131, 132, 141, 142
KINDS = [("s", np.float32, ctypes.c_float), ("d", np.float64, ctypes.c_double)]
ORDERS = [(ROWS, "C"), (COLUMNS, "F")]


def whole(shape, dtype, order="F", seed=0):
    return np.asarray(np.random.default_rng(seed).integers(-3, 4, shape), dtype, order=order)


def at(matrix):
    return ctypes.c_void_p(matrix.ctypes.data)


def ints(*values):
    return (ctypes.c_int * len(values))(*values)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
def test_strided_batch(letter, dtype, number, order, layout):
    m, n, k, count = 5, 7, 3, 4
    a = [whole((m, k), dtype, layout, s) for s in range(count)]
    b = [whole((k, n), dtype, layout, 10 + s) for s in range(count)]
    flat = lambda matrices: np.concatenate([x.ravel(order="K") for x in matrices])
    c = np.full(count * m * n, np.nan, dtype)
    lda, ldb, ldc = (k, n, n) if order == ROWS else (m, k, m)
    call = getattr(ours, f"cblas_{letter}gemm_batch_strided")
    fa, fb = flat(a), flat(b)
    call(order, PLAIN, PLAIN, m, n, k, number(2), at(fa), lda, m * k, at(fb), ldb, k * n, number(0), at(c), ldc, m * n,
         count)
    np.testing.assert_array_equal(c, flat([np.asarray(2 * (x @ y), order=layout) for x, y in zip(a, b)]))
    # C of all products at one place has no batch of its own: the products follow one another
    c[:] = 1
    call(order, PLAIN, PLAIN, m, n, k, number(1), at(fa), lda, m * k, at(fb), ldb, k * n, number(1), at(c), ldc, 0, count)
    np.testing.assert_array_equal(c[: m * n], np.asarray(1 + sum(x @ y for x, y in zip(a, b)), order=layout).ravel("K"))


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
def test_batch_of_groups(letter, dtype, number, order, layout):
    groups = [(5, 7, 3, PLAIN, TRANSPOSED, 2, 0, 3), (0, 4, 4, PLAIN, PLAIN, 1, 1, 1), (8, 2, 6, TRANSPOSED, PLAIN, 1, -1, 2)]
    a, b, c, expected = [], [], [], []
    for m, n, k, ta, tb, alpha, beta, count in groups:
        for p in range(count):
            a.append(whole((m, k) if ta == PLAIN else (k, m), dtype, layout, p))
            b.append(whole((k, n) if tb == PLAIN else (n, k), dtype, layout, 5 + p))
            c.append(whole((m, n), dtype, layout, 9 + p))
            product = (a[-1] if ta == PLAIN else a[-1].T) @ (b[-1] if tb == PLAIN else b[-1].T)
            expected.append(alpha * product + beta * c[-1])
    ld = lambda rows, columns: max(1, columns if order == ROWS else rows)
    field = lambda i: ints(*(g[i] for g in groups))
    numbers = lambda i: (number * len(groups))(*(g[i] for g in groups))
    pointers = lambda matrices: (ctypes.c_void_p * len(matrices))(*(x.ctypes.data for x in matrices))
    lda = ints(*(ld(*((g[0], g[2]) if g[3] == PLAIN else (g[2], g[0]))) for g in groups))
    ldb = ints(*(ld(*((g[2], g[1]) if g[4] == PLAIN else (g[1], g[2]))) for g in groups))
    ldc = ints(*(ld(g[0], g[1]) for g in groups))
    getattr(ours, f"cblas_{letter}gemm_batch")(order, field(3), field(4), field(0), field(1), field(2), numbers(5),
                                               pointers(a), lda, pointers(b), ldb, numbers(6), pointers(c), ldc,
                                               len(groups), field(7))
    for got, want in zip(c, expected):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("order,layout", ORDERS)
@pytest.mark.parametrize("triangle", (UPPER, LOWER))
@pytest.mark.parametrize("name", ("gemmtr", "gemmt"))
def test_gemmtr(name, letter, dtype, number, order, layout, triangle):
    n, k = 77, 41
    for ta in (PLAIN, TRANSPOSED):
        for tb in (PLAIN, TRANSPOSED):
            a = whole((n, k) if ta == PLAIN else (k, n), dtype, layout, 1)
            b = whole((k, n) if tb == PLAIN else (n, k), dtype, layout, 2)
            c = whole((n, n), dtype, layout, 3)
            full = 2 * ((a if ta == PLAIN else a.T) @ (b if tb == PLAIN else b.T)) - c
            inside = (np.triu if triangle == UPPER else np.tril)(np.ones((n, n), bool))
            expected = np.where(inside, full, c)
            ld = lambda x: x.strides[0] // x.itemsize if order == ROWS else x.strides[1] // x.itemsize
            getattr(ours, f"cblas_{letter}{name}")(order, triangle, ta, tb, n, k, number(2), at(a), ld(a), at(b), ld(b),
                                                   number(-1), at(c), n)
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("routine", ("trmm", "trsm"))
@pytest.mark.parametrize("side", (LEFT, RIGHT))
def test_triangles_over_several_blocks(routine, side, letter, dtype, number):
    """A times a vector of whole numbers and back again, with a triangle whose inverse is whole too."""
    order = 107
    for triangle in (UPPER, LOWER):
        for op in (PLAIN, TRANSPOSED):
            for diagonal in (NON_UNIT, UNIT):
                m, n = (order, 300) if side == LEFT else (300, order)
                band = np.eye(order, k=1 if triangle == UPPER else -1)  # two diagonals: numbers stay small
                a = np.asarray(band + np.diag(np.where(np.arange(order) % 2, 1, -1)), dtype, order="F")
                t = band + np.eye(order) if diagonal == UNIT else a
                t = t if op == PLAIN else t.T
                x = whole((m, n), dtype)
                product = np.asarray(t @ x if side == LEFT else x @ t, dtype, order="F")
                b = x.copy("F") if routine == "trmm" else product.copy("F")
                outside = np.full((order, order), np.nan, dtype, order="F")  # the other triangle is not read
                keep = (np.triu if triangle == UPPER else np.tril)(np.ones((order, order), bool))
                outside[keep] = a[keep]
                if diagonal == UNIT:
                    np.fill_diagonal(outside, np.nan)
                getattr(ours, f"cblas_{letter}{routine}")(COLUMNS, side, triangle, op, diagonal, m, n, number(1),
                                                          at(outside), order, at(b), m)
                np.testing.assert_array_equal(b, product if routine == "trmm" else x)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
@pytest.mark.parametrize("routine", ("trmm", "trsm"))
@pytest.mark.parametrize("special", (np.inf, np.nan))
def test_special_values_stay_where_the_reference_has_them(routine, letter, dtype, number, special):
    order = 20
    for side in (LEFT, RIGHT):
        for triangle in (UPPER, LOWER):
            a = np.asfortranarray(whole((order, order), dtype) + 7 * np.eye(order, dtype=dtype))
            b = whole((order, order), dtype, seed=4)
            b[7, 9] = special
            got, want = b.copy("F"), b.copy("F")
            for library, to in ((ours, got), (reference, want)):
                getattr(library, f"cblas_{letter}{routine}")(COLUMNS, side, triangle, PLAIN, NON_UNIT, order, order,
                                                             number(1), at(a), order, at(to), order)
            np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_singular_blocks_divide_by_zero_as_the_reference_does(letter, dtype, number):
    a = np.asfortranarray(np.tril(np.ones((20, 20), dtype)))
    a[5, 5] = 0
    got, want = (np.ones((20, 3), dtype, order="F") for _ in range(2))
    for library, to in ((ours, got), (reference, want)):
        getattr(library, f"cblas_{letter}trsm")(COLUMNS, LEFT, LOWER, PLAIN, NON_UNIT, 20, 3, number(1), at(a), 20, at(to), 20)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


def product(n, seed=0):
    a, b, c = whole((n, n), np.float64, seed=seed), whole((n, n), np.float64, seed=seed + 1), np.full((n, n), np.nan, order="F")
    d = ctypes.c_double
    ours.cblas_dgemm(COLUMNS, PLAIN, PLAIN, n, n, n, d(1), at(a), n, at(b), n, d(0), at(c), n)
    return np.array_equal(c, a @ b)


def test_threads_and_fork():
    ours.openblas_set_num_threads(2)
    assert product(300)
    child = os.fork()
    if child == 0:
        os._exit(0 if product(300, 5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    answers = []
    callers = [threading.Thread(target=lambda s=s: answers.append(all(product(n, s) for n in (3, 64, 200)))) for s in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert answers == [True] * 8


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_a_vector_between_the_elements_of_its_matrix(letter, dtype, number):
    """y is the diagonal of the upper left block of M, A the block below it: no element is shared."""
    m, x = whole((6, 6), dtype), whole(3, dtype, seed=1)
    expected = m.copy("F")
    expected[:3, :3][np.diag_indices(3)] += m[3:, :3] @ x
    getattr(ours, f"cblas_{letter}gemv")(COLUMNS, PLAIN, 3, 3, number(1), at(m[3:]), 6, at(x), 1, number(1), at(m), 7)
    np.testing.assert_array_equal(m, expected)
    m = expected.copy("F")  # from the far end of the diagonal, rows of A
    expected[:3, :3][np.diag_indices(3)] = (m[3:, :3].T @ x)[::-1]
    getattr(ours, f"cblas_{letter}gemv")(COLUMNS, TRANSPOSED, 3, 3, number(1), at(m[3:]), 6, at(x), 1, number(0), at(m), -7)
    np.testing.assert_array_equal(m, expected)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_operands_that_overlap_count_as_they_were(letter, dtype, number):
    """Also where the thread has done their like before, which is then done quickly."""
    for _ in range(3):
        a, x = whole((4, 4), dtype), whole(4, dtype, seed=1)
        product, y = a @ x, np.zeros(4, dtype)
        for to in (y, x):
            getattr(ours, f"cblas_{letter}gemv")(COLUMNS, PLAIN, 4, 4, number(1), at(a), 4, at(x), 1, number(0), at(to), 1)
            np.testing.assert_array_equal(to, product)
        product, c = 2 * (a @ a) - a, a.copy("F")
        for to in (c, a):
            getattr(ours, f"cblas_{letter}gemm")(COLUMNS, PLAIN, PLAIN, 4, 4, 4, number(2), at(a), 4, at(a), 4, number(-1),
                                                 at(to), 4)
            np.testing.assert_array_equal(to, product)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_vectors_with_steps_twice_over(letter, dtype, number):
    """Of every size, with neighbours and with steps to either side, by rows of the matrix and by its columns."""
    for m, n in ((1, 1), (1, 7), (7, 1), (4, 4), (5, 17), (17, 5), (64, 3), (33, 70)):
        a, x, y = whole((m, n), dtype), whole(3 * max(m, n), dtype, seed=1), whole(3 * max(m, n), dtype, seed=2)
        for trans, op in ((PLAIN, a), (TRANSPOSED, a.T)):
            rows, terms = op.shape
            for x_step, y_step in ((1, 1), (2, 1), (1, 3), (-1, 2), (2, -3)):
                of_x, of_y = x[:terms * abs(x_step):abs(x_step)], slice(0, rows * abs(y_step), abs(y_step))
                for beta in (0, 1, -2, 0, 1):
                    out, expected = y.copy(), y.copy()
                    product = (op @ of_x[::-1 if x_step < 0 else 1]) * 2
                    expected[of_y] = product[::-1 if y_step < 0 else 1] + beta * y[of_y]
                    getattr(ours, f"cblas_{letter}gemv")(COLUMNS, trans, m, n, number(2), at(a), m, at(x), x_step,
                                                         number(beta), at(out), y_step)
                    np.testing.assert_array_equal(out, expected)


def listed(letter, number, a, b, places, n, ldc, beta):
    """places: addresses of the n x n C's, of one group."""
    pointers = lambda addresses: (ctypes.c_void_p * len(addresses))(*addresses)
    getattr(ours, f"cblas_{letter}gemm_batch")(
        COLUMNS, ints(PLAIN), ints(PLAIN), ints(n), ints(n), ints(n), (number * 1)(1), pointers([x.ctypes.data for x in a]),
        ints(n), pointers([x.ctypes.data for x in b]), ints(n), (number * 1)(beta), pointers(places), ints(ldc), 1,
        ints(len(places)))


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_listed_products_of_one_place_follow_one_another(letter, dtype, number):
    ours.openblas_set_num_threads(4)
    n, count = 64, 64
    a, b = ([whole((n, n), dtype, seed=s + p) for p in range(count)] for s in (0, 100))
    expected = sum(x @ y for x, y in zip(a, b))
    for _ in range(30):  # a race loses now and then
        c = np.zeros((n, n), dtype, order="F")
        listed(letter, number, a, b, [c.ctypes.data] * count, n, n, 1)
        np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("letter,dtype,number", KINDS)
def test_listed_products_of_tiles_of_one_matrix(letter, dtype, number):
    n, tiles = 3, 4
    a, b = ([whole((n, n), dtype, seed=s + p) for p in range(tiles * tiles)] for s in (0, 100))
    c = whole((n * tiles, n * tiles), dtype)
    places = [(i * n, j * n) for i in range(tiles) for j in range(tiles)]
    expected = c.copy("F")
    for x, y, (i, j) in zip(a, b, places):
        expected[i:i + n, j:j + n] += x @ y
    listed(letter, number, a, b, [c[i:, j:].ctypes.data for i, j in places], n, n * tiles, 1)
    np.testing.assert_array_equal(c, expected)
