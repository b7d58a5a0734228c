# SPDX-License-Identifier: Apache-2.0
"""Routines of ours that an OpenBLAS behind the library was measured to do faster go there, and no others."""
import os
import re
import sys

import pytest
from support import LIBRARY, SOURCE, STAND_IN, other_blas, run

PARITY = 0.95
TABLE = open(f"{SOURCE}/src/blas/openblas.inc", encoding="ascii").read()
ROWS = [(name, [float(x) for x in ratios.split(",")])
        for name, ratios in re.findall(r"^EXACTILE_MEASURED\((\w+), avx2, (.*)\)$", TABLE, re.M)]


def outcome(fallback, scale, **settings):
    """What comes out, and the routines that the fallback did, of those that say who did them."""
    command = [sys.executable, f"{os.path.dirname(__file__)}/every_routine.py", LIBRARY, str(scale)]
    done = run(command, EXACTILE_BLAS_FALLBACK=fallback, EXACTILE_VERBOSE=1, EXACTILE_MAX_ISA="avx2", OMP_NUM_THREADS=1,
               **{"EXACTILE_BLAS_OWN": "", **settings})
    lines = re.findall(r"^exactile: (\w+) .*kernel=(\S+)", done.stderr, re.M)
    assert len(lines) > 1000
    return done.stdout, {name.lower() for name, kernel in lines if kernel == fallback[:63]}, {n.lower() for n, _ in lines}


PANELS = {name: [float(x) for x in ratios.split(",")]
          for name, ratios in re.findall(r"^EXACTILE_MEASURED_PANELS\((\w+), avx2, (.*)\)$", TABLE, re.M)}


@pytest.mark.parametrize("scale,row", ((1, 0), (40, 3)))
def test_what_was_measured_faster_goes_to_an_openblas_with_all_its_arguments(scale, row):
    """Sizes 3, 4, 5 count as 4, those of 120 to 200 as 256."""
    own, gone, routines = outcome(STAND_IN, scale, EXACTILE_BLAS_OWN=1)
    assert not gone
    faster = {name for name, ratios in ROWS if ratios[row] < PARITY}
    assert faster <= routines and faster != routines
    results, gone, _ = outcome(STAND_IN, scale)
    assert gone == faster
    assert results == own


@pytest.mark.parametrize("name", PANELS)
def test_panels_go_by_their_width(name):
    code = f"""if True:
        import ctypes
        library = ctypes.CDLL({LIBRARY!r})
        x = [(ctypes.c_double * (2 * 1024 * 16))() for _ in range(3)]
        one = (ctypes.c_double * 2)(1)
        for width in (1, 2, 4, 8, 16):
            m, n = ctypes.c_int(1024), ctypes.c_int(width)
            library.{name}_(b"N", b"N", ctypes.byref(m), ctypes.byref(n), ctypes.byref(n), one, x[0], ctypes.byref(m), x[1],
                            ctypes.byref(n), one, x[2], ctypes.byref(m))"""
    done = run([sys.executable, "-c", code], EXACTILE_BLAS_FALLBACK=STAND_IN, EXACTILE_VERBOSE=1, EXACTILE_MAX_ISA="avx2",
               OMP_NUM_THREADS=1)
    kernels = re.findall(r"^exactile: \w+ .*kernel=(\S+)", done.stderr, re.M)
    assert [kernel == STAND_IN[:63] for kernel in kernels] == [ratio < PARITY for ratio in PANELS[name]]


def test_another_fallback_gets_none():
    _, gone, _ = outcome(other_blas(), 1)
    assert not gone


def test_an_openblas_with_kernels_of_lesser_instructions_gets_none():
    _, gone, _ = outcome(STAND_IN, 1, STAND_IN_CORE="Prescott")
    assert not gone
    for core in ("SkylakeX", "SKYLAKEX"):
        _, gone, _ = outcome(STAND_IN, 1, STAND_IN_CORE=core)
        assert gone


def test_what_is_ours_opens_no_openblas():
    """Opening one starts its threads. A routine that goes there from a size on is ours below it."""
    name = next(name for name, ratios in ROWS if name in ("cgemm", "sgemm", "dgemm", "zgemm") and ratios[1] >= PARITY
                and min(ratios[1:]) < PARITY)
    sizes = {size: ratios < PARITY for size, ratios in zip((4, 16, 64, 256, 1024), dict(ROWS)[name]) if size > 4}
    far = next(size for size, is_theirs in sizes.items() if is_theirs)
    code = f"""if True:
        import ctypes
        library = ctypes.CDLL({LIBRARY!r})
        def is_open():
            return {os.path.basename(STAND_IN)!r} in open("/proc/self/maps").read()
        def multiply(n):
            c = ctypes.c_int(n)
            x = [(ctypes.c_double * (2 * n * n))() for _ in range(3)]
            one = (ctypes.c_double * 2)(1)
            library.{name}_(b"N", b"N", *[ctypes.byref(c)] * 3, one, x[0], ctypes.byref(c), x[1], ctypes.byref(c), one, x[2],
                            ctypes.byref(c))
        multiply(8)
        assert not is_open()
        multiply({far})
        assert is_open()"""
    run([sys.executable, "-c", code], EXACTILE_BLAS_FALLBACK=STAND_IN, EXACTILE_MAX_ISA="avx2", OMP_NUM_THREADS=1)
