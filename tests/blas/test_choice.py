# SPDX-License-Identifier: Apache-2.0
"""Routines of ours that an OpenBLAS behind the library was measured to do faster go there, and no others."""
import os
import re
import sys

from support import LIBRARY, SOURCE, STAND_IN, other_blas, run

PARITY = 0.95
ROWS = re.findall(r"^EXACTILE_MEASURED\((\w+), (\w+), ([\d.]+)\)$", open(f"{SOURCE}/src/blas/openblas.inc").read(), re.M)


def outcome(fallback, **settings):
    """What comes out, and the routines that the fallback did, of those that say who did them."""
    command = [sys.executable, f"{os.path.dirname(__file__)}/every_routine.py", LIBRARY]
    done = run(command, EXACTILE_BLAS_FALLBACK=fallback, EXACTILE_VERBOSE=1, EXACTILE_MAX_ISA="avx2", OMP_NUM_THREADS=1,
               **{"EXACTILE_BLAS_OWN": "", **settings})
    lines = re.findall(r"^exactile: (\w+) .*kernel=(\S+)", done.stderr, re.M)
    assert len(lines) > 1000
    return done.stdout, {name.lower() for name, kernel in lines if kernel == fallback[:63]}, {n.lower() for n, _ in lines}


def test_what_was_measured_faster_goes_to_an_openblas_with_all_its_arguments():
    own, gone, routines = outcome(STAND_IN, EXACTILE_BLAS_OWN=1)
    assert not gone
    faster = {name for name, isa, ratio in ROWS if isa == "avx2" and float(ratio) < PARITY}
    assert faster <= routines and faster != routines
    results, gone, _ = outcome(STAND_IN)
    assert gone == faster
    assert results == own


def test_another_fallback_gets_none():
    _, gone, _ = outcome(other_blas())
    assert not gone
