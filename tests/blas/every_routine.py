# SPDX-License-Identifier: Apache-2.0
"""Calls routines of level 3 and ?gemv with every letter, in every spelling; prints what comes out, shortened. Small whole
numbers, exact in any order. Arguments: the library, the scale of the sizes."""
import ctypes
import functools
import hashlib
import itertools
import sys

import numpy as np

LIBRARY = ctypes.CDLL(sys.argv[1])
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
CODES = {"N": 111, "T": 112, "C": 113, "U": 121, "L": 122}
DIAGONALS = {"N": 131, "U": 132}
SIDES = {"L": 141, "R": 142}
SCALE = int(sys.argv[2])
M, N, K, LD = 3 * SCALE, 4 * SCALE, 5 * SCALE, 7 * SCALE


def matrix(dtype, seed):
    return numbers(dtype, seed).copy("F")


@functools.cache
def numbers(dtype, seed):
    values = np.random.default_rng(seed).integers(-2, 3, (2, LD, LD))
    return np.asarray(values[0] + (1j * values[1] if np.iscomplexobj(dtype(0)) else 0), dtype, order="F")


def triangle(dtype):
    """What lies beside the diagonal has square 0: the inverse's numbers are as small."""
    a = matrix(dtype, 3)
    a[1::2] = a[:, ::2] = 0
    np.fill_diagonal(a, np.where(np.arange(LD) % 2, 1, -2))
    return a


def show(*what, result):
    print(*what, hashlib.md5((result + 0).tobytes()).hexdigest())  # + 0: no zero has a sign


class Call:
    """One routine's call in all spellings: letters, then whatever follows, a number as alpha or beta where said."""

    def __init__(self, letter, stem):
        self.name, self.dtype = letter + stem, TYPES[letter]

    def fortran(self, suffix, integer, arguments):
        refer = {str: lambda x: x.encode(), int: lambda x: ctypes.byref(integer(x)),
                 np.ndarray: lambda x: ctypes.c_void_p(x.ctypes.data)}
        getattr(LIBRARY, self.name + suffix)(*(refer[type(x)](x) for x in arguments))

    def cblas(self, suffix, integer, order, codes, arguments):
        def passed(x):
            if isinstance(x, int):
                return integer(x)
            if x.ndim == 0 and x.dtype == np.float32:
                return ctypes.c_float(x.item())
            if x.ndim == 0 and x.dtype == np.float64:
                return ctypes.c_double(x.item())
            return ctypes.c_void_p(x.ctypes.data)
        getattr(LIBRARY, f"cblas_{self.name}{suffix}")(order, *codes, *(passed(x) for x in arguments))

    def all(self, letters, codes, make):
        """`make` gives fresh arguments behind the letters, and which of them is the result."""
        for suffix, integer in (("_", ctypes.c_int32), ("_64_", ctypes.c_int64)):
            arguments, result = make()
            self.fortran(suffix, integer, [*letters, *arguments])
            show(self.name, suffix, *letters, result=result)
        for suffix, integer in (("", ctypes.c_int32), ("_64", ctypes.c_int64)):
            for order in (101, 102):
                arguments, result = make()
                self.cblas(suffix, integer, order, codes, arguments)
                show("cblas", self.name, suffix, order, *letters, result=result)


def run(letter):
    dtype, is_complex = TYPES[letter], letter in "cz"
    number = lambda x: np.asarray(x, dtype)
    alpha, beta = (number(1 + 2j), number(-1j)) if is_complex else (number(2), number(-1))
    trans = "NTC"

    def with_c(sizes, a_and_b, factors=(alpha, beta), steps=(LD, LD, LD)):
        def make():
            c = matrix(dtype, 9)
            operands = [x for pair in zip(a_and_b, steps) for x in pair]
            return [*sizes, factors[0], *operands, factors[1], c, steps[-1]], c
        return make

    a, b = matrix(dtype, 1), matrix(dtype, 2)
    for ops in itertools.product(trans, repeat=2):
        Call(letter, "gemm").all(ops, [CODES[x] for x in ops], with_c((M, N, K), (a, b)))
    for op in trans:
        Call(letter, "gemv").all(op, [CODES[op]], with_c((M, N), (a, b), steps=(LD, -2, 3)))
    for stem in ("symm", "hemm")[:1 + is_complex]:
        for side, uplo in itertools.product("LR", "UL"):
            Call(letter, stem).all((side, uplo), (SIDES[side], CODES[uplo]), with_c((M, N), (a, b)))
    for stem in ("syr", "her")[:1 + is_complex]:
        real = [np.asarray(x, alpha.real.dtype) for x in (2, -1)]
        for uplo, op in itertools.product("UL", "NC" if stem == "her" else "NT"):
            codes = (CODES[uplo], CODES[op])
            factors = real if stem == "her" else (alpha, beta)
            Call(letter, stem + "k").all((uplo, op), codes, with_c((M, N), (a,), factors))
            Call(letter, stem + "2k").all((uplo, op), codes, with_c((M, N), (a, b), (alpha, factors[1])))
    for stem in ("trmm", "trsm"):
        for letters in itertools.product("LR", "UL", trans, "NU"):
            side, uplo, op, diagonal = letters
            def make():
                c = matrix(dtype, 9)
                return [M, N, alpha, triangle(dtype), LD, c, LD], c
            Call(letter, stem).all(letters, (SIDES[side], CODES[uplo], CODES[op], DIAGONALS[diagonal]), make)


for kind in TYPES:
    run(kind)
