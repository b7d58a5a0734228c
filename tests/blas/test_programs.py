# SPDX-License-Identifier: Apache-2.0
"""Programs that others wrote, with their own checks, where they are installed: HPL, Octave, R, NumPy's and SciPy's suites.

What passes over the reference passes over this library, and a run that says who was called shows that it was. What
takes minutes, SciPy's suite and HPL, EXACTILE_LONG_SUITES=1 runs."""
import os
import re
import shutil
import sys

import pytest
from support import PROVIDER, REFERENCE, run
from test_mpi import SETTINGS, mpirun

OURS = {"LD_LIBRARY_PATH": os.path.dirname(PROVIDER), "EXACTILE_BLAS_FALLBACK": REFERENCE, "OMP_NUM_THREADS": 1}
THEIRS = {"LD_LIBRARY_PATH": os.path.dirname(REFERENCE), "OMP_NUM_THREADS": 1}


def installed(program, package):
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program} here: {package} has it")
    return path


def need_time():
    if os.environ.get("EXACTILE_LONG_SUITES") != "1":
        pytest.skip("takes minutes: EXACTILE_LONG_SUITES=1 runs it")


def calls(stderr, routine):
    return len(re.findall(rf"^exactile: {routine} .* us$", stderr, re.M))


HPL = """HPLinpack
test
HPL.out
8 out
1 sizes
240
1 blocks
32
0 mapping
1 grids
2 P
2 Q
16.0 threshold
1 factorizations
2
1 minima
4
1 divisors
2
1 recursive
1
1 broadcasts
1
1 depths
1
2 swap
64
0 L1
0 U
1 equilibration
8 alignment
"""


def test_hpl_solves_over_four_ranks(tmp_path, monkeypatch):
    """Of HPC Challenge, whose other benchmarks run too, and take their time."""
    need_time()
    program = installed("hpcc", "hpcc")
    command = mpirun()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hpccinf.txt").write_text(HPL, encoding="ascii")
    done = run([*command, program], **OURS, **{k: v for k, v in SETTINGS.items() if k not in OURS})
    output = (tmp_path / "hpccoutf.txt").read_text(encoding="ascii")
    assert re.search(r"\|\|Ax-b\|\|_oo.* PASSED", output), output[-3000:]
    assert re.search(r"1 tests completed and passed residual checks", output) and "FAILED" not in output
    assert calls(done.stderr, "DGEMM") > 100 and calls(done.stderr, "DTRSM") > 10


# One of svd's compares what two algorithms say of a singular value of 2.1 within three units in its last place.
KNOWN = {"svd": 1}
OCTAVE = "chol det hess inv lu mgorth pinv qr schur svd sylvester dot".split()


def octave_results(settings):
    """Of each file of checks: name, how many passed, how many there are."""
    code = "where = fullfile(__octave_config_info__('octtestsdir'), 'libinterp', 'corefcn');"
    for name in OCTAVE:
        code += f"[n, all] = test(fullfile(where, '{name}.cc-tst'), 'quiet'); printf('{name} %d %d\\n', n, all);"
    code += "a = reshape(1:6, 2, 3); assert(a * a', [35 44; 44 56]); assert((a + 1i) * a(1, :)', [35 + 9i; 44 + 9i]);"
    done = run([installed("octave-cli", "octave"), "--norc", "--eval", code], **settings)
    lines = re.findall(r"^(\w+) (\d+) (\d+)$", done.stdout, re.M)
    return [(name, int(passed), int(count)) for name, passed, count in lines], done.stderr


def test_octaves_checks_of_linear_algebra_pass():
    expected, _ = octave_results(THEIRS)
    results, ours = octave_results({**OURS, "EXACTILE_VERBOSE": 1})
    assert len(results) == len(expected) == len(OCTAVE)
    for (name, passed, count), (_, needed, of) in zip(results, expected):
        assert count == of > 0 and needed - KNOWN.get(name, 0) <= passed <= needed, name
    assert all(calls(ours, routine) for routine in ("DGEMM", "DGEMV", "DTRSM"))


R = """
set.seed(1)
a <- matrix(as.double(sample(-3:3, 90 * 90, TRUE)), 90); b <- matrix(as.double(sample(-3:3, 90 * 40, TRUE)), 90)
by.hand <- function(x, y) outer(seq_len(nrow(x)), seq_len(ncol(y)), Vectorize(function(i, j) sum(x[i, ] * y[, j])))
options(matprod = "blas")
stopifnot(identical(a %*% b, by.hand(a, b)), identical(crossprod(a, b), by.hand(t(a), b)),
          identical(crossprod(b), by.hand(t(b), b)), identical(tcrossprod(b), by.hand(b, t(b))),
          identical(a %*% b[, 1], by.hand(a, b[, 1, drop = FALSE])),
          identical((a + 1i * a) %*% (b - 1i * b), 2 * by.hand(a, b) + 0i))
s <- crossprod(a) + diag(90)
stopifnot(all.equal(solve(s) %*% s, diag(90)), all.equal(crossprod(chol(s)), s), all.equal(qr.Q(qr(a)) %*% qr.R(qr(a)), a),
          all.equal(chol2inv(chol(s)), solve(s)), all.equal(backsolve(chol(s), chol(s) %*% b), b))
u <- svd(a); e <- eigen(s)
stopifnot(all.equal(u$u %*% (u$d * t(u$v)), a), all.equal(e$vectors %*% (e$values * t(e$vectors)), s))
a[3, 4] <- NaN; a[5, 6] <- Inf
options(matprod = "default")
stopifnot(identical(is.nan(a %*% b), is.nan(by.hand(a, b))), all(is.nan((a %*% b)[3, ])))
cat("all of R's\n")
"""


def test_rs_products_and_decompositions():
    """R looks for libraries in places of its own first."""
    done = run([installed("Rscript", "r-base-core"), "-e", R], EXACTILE_VERBOSE=1, LD_PRELOAD=PROVIDER, **OURS)
    assert "all of R's" in done.stdout
    assert all(calls(done.stderr, routine) for routine in ("DGEMM", "ZGEMM", "DGEMV", "DSYRK", "DTRSM"))


def outcomes(package, settings):
    """What passed and what failed; of a test that its authors mark as unstable neither result counts."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "--pyargs", package]
    done = run(command, expect=None, **settings)
    return sorted(re.findall(r"^(?:PASSED|FAILED|ERROR) \S+::\S+.*$", done.stdout, re.M))


@pytest.mark.parametrize("package,needs,least", (("numpy.linalg", "hypothesis", 300), ("scipy.linalg", "scipy", 3000)))
def test_the_suite_has_the_outcomes_that_it_has_over_the_reference(package, needs, least):
    pytest.importorskip(needs)
    if package == "scipy.linalg":
        need_time()
    code = f"import numpy, {package}; a = numpy.eye(50) + 1 / 7; {package}.solve(a, a @ a); {package}.cholesky(a @ a.T)"
    ours = run([sys.executable, "-c", code], EXACTILE_VERBOSE=1, **OURS).stderr
    assert calls(ours, "DGEMM") and calls(ours, "DTRSM") and calls(ours, "DSYRK")
    results = outcomes(package, OURS)
    assert len(results) >= least
    assert results == outcomes(package, THEIRS)
