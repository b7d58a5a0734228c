# SPDX-License-Identifier: Apache-2.0
"""LAPACK's testers of linear equations on Debian's liblapack over this BLAS, each result beside its threshold."""
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import PROVIDER, folder_of, other_blas, run

# A solve with op(A) = U^T in ?TFSM: 1 of 7776 results lies beyond the threshold with other optimised libraries too.
KNOWN = {"STFSM", "CTFSM"}


def run_tester(program, data):
    where = folder_of("lapack")
    with open(f"{where}/{data}", encoding="ascii") as text:
        return run([f"{where}/{program}"], text=text.read(), LD_LIBRARY_PATH=f"{os.path.dirname(PROVIDER)}:{where}/..",
                   EXACTILE_BLAS_FALLBACK=other_blas(), OMP_NUM_THREADS=1).stdout


@pytest.mark.parametrize("letter", "sdcz")
def test_linear_equations(letter):
    pairs = [(f"xlintst{letter}", f"{letter}test.in"), (f"xlintstrf{letter}", f"{letter}test_rfp.in")]
    with ThreadPoolExecutor(2) as both:
        output = "".join(both.map(lambda pair: run_tester(*pair), pairs))
    assert len(re.findall(r"passed the (?:tests|threshold)", output)) > 40, output[-3000:]
    failed = {name for name in re.findall(r"^ *(\w+)[^\n]*out of +\d+ tests failed", output, flags=re.M)}
    assert failed <= KNOWN, output
    known = "|".join(KNOWN)
    others = re.sub(rf"\*\*\* Error\(s\) or Failure\(s\) while testing ({known}) +\*\*\*", "", output)
    assert "*** " not in others, output


def test_it_was_ours():
    where = folder_of("lapack")
    done = run([f"{where}/xlintstd"], text=open(f"{where}/dtest.in", encoding="ascii").read().split("\nDPO")[0] + "\n",
               LD_LIBRARY_PATH=f"{os.path.dirname(PROVIDER)}:{where}/..", EXACTILE_BLAS_FALLBACK=other_blas(),
               EXACTILE_VERBOSE=1)
    assert "All tests for DGE routines passed" in done.stdout
    assert {"DGEMM", "DTRSM"} <= set(re.findall(r"^exactile: (\w+)", done.stderr, flags=re.M))
