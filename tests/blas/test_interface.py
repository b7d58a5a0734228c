# SPDX-License-Identifier: Apache-2.0
"""Names, forwarding, messages and what loading costs."""
import json
import os
import re
import subprocess
import sys

import pytest
from support import FAKES, LIBRARY, PROVIDER, REFERENCE, SOURCE, exported, other_blas, python, run

STEMS = ("gemm", "gemv", "gemmtr", "symm", "syrk", "syr2k", "trmm", "trsm")
PACKED = ("gemm_pack_get_size", "gemm_pack", "gemm_compute")
ROUTINES = ([letter + stem for letter in "sdcz" for stem in STEMS] + ["sbgemm"]
            + [letter + stem for letter in "cz" for stem in ("hemm", "herk", "her2k", "gemm3m")]
            + [letter + stem for letter in "sd" for stem in PACKED])
OWN = [kind + routine for routine in ROUTINES for kind in ("", "cblas_")] + ["cblas_gemm_s8u8s32"]


def spellings(name):
    tail = "" if name.startswith("cblas_") else "_"
    return [name + tail, name + "_64" + tail, name + "64_" if tail == "" else name + "64_",
            "scipy_" + name + tail, "scipy_" + name + ("64_" if tail == "" else "_64_")]


def test_every_name_of_the_reference_is_there():
    ours = exported(PROVIDER)
    assert ours == exported(LIBRARY)
    assert len(exported(REFERENCE)) == 324
    assert not exported(REFERENCE) - ours
    assert not [name for name in ours if name.startswith("_Z")]
    assert not [spelling for name in OWN for spelling in spellings(name) if spelling not in ours]


def test_soname_is_that_of_every_provider():
    assert "[libblas.so.3]" in run(["readelf", "-d", PROVIDER]).stdout
    needed = re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", LIBRARY]).stdout)
    assert not [name for name in needed if re.match("libstdc|libOpenCL|libcuda|libgfortran", name)]


CALLS = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else %r)
""" % LIBRARY


def test_forwarded_routines_take_every_kind_of_argument_and_return_what_they_return():
    code = CALLS + """
import json
i, d = ctypes.c_int, ctypes.c_double
x = (d * 3)(1, -5, 2); y = (d * 3)(4, 5, 6); n = i(3); one = i(1)
lib.ddot_.restype = d; lib.cblas_ddot.restype = d; lib.isamax_.restype = i; lib.cblas_sdsdot.restype = ctypes.c_float
f = (ctypes.c_float * 3)(1, -5, 2)
r = ctypes.byref
out = [lib.ddot_(r(n), x, r(one), y, r(one)), lib.cblas_ddot(3, x, 1, y, 1), lib.isamax_(r(n), f, r(one))]
out.append(lib.cblas_sdsdot(3, ctypes.c_float(0.5), f, 1, f, 1))
# 14 arguments, eight of them on the stack, numbers among them
lib.cblas_dsyr2k(101, 121, 111, 1, 3, d(2), x, 3, y, 3, d(0), (d * 1)(), 1)
a = (d * 9)(*range(9))
lib.cblas_dgbmv(101, 111, 3, 3, 0, 0, d(2), a, 1, x, 1, d(0), y, 1); out.append(list(y))
print(json.dumps(out))
"""
    out = json.loads(python(code, EXACTILE_BLAS_FALLBACK=other_blas()).stdout)
    assert out == [-9.0, -9.0, 2, 30.5, [0.0, -10.0, 8.0]]


def test_a_missing_fallback_says_what_was_wanted_and_where_was_looked(tmp_path):
    absent = str(tmp_path / "no-such.so")
    code = CALLS + "lib.daxpy_()"
    text = python(code, expect=127, EXACTILE_BLAS_FALLBACK=absent).stderr
    assert "daxpy_ was called" in text and absent in text
    text = python(code, expect=127, EXACTILE_BLAS_FALLBACK="libblas.so.3").stderr
    assert "absolute path" in text
    text = python(code, expect=127, EXACTILE_BLAS_FALLBACK=LIBRARY).stderr
    assert "this library itself" in text
    code = CALLS + "lib.daxpy_()"
    libm = "/lib/x86_64-linux-gnu/libm.so.6"
    assert "is no BLAS" in python(code, expect=127, EXACTILE_BLAS_FALLBACK=libm).stderr


def test_error_exit_names_the_parameter_and_can_be_replaced():
    gemm = CALLS + """
i, d = ctypes.c_int, ctypes.c_double
lib.cblas_dgemm(%s, 111, 111, 2, 3, -1, d(1), None, 4, None, 4, d(0), None, 4)
print("came back")
"""
    for order in (101, 102):
        done = python(gemm % order, expect=1, EXACTILE_BLAS_FALLBACK=other_blas())
        assert "Parameter 6 to routine cblas_dgemm was incorrect" in done.stderr and "came back" not in done.stdout
    assert "Illegal Order setting, 7" in python(gemm % 7, expect=1).stderr


def test_loading_starts_no_thread_opens_no_driver_and_is_quick():
    code = CALLS.replace("lib =", "import time, os\nstart = time.perf_counter()\nlib =") + """
print(time.perf_counter() - start, len(os.listdir("/proc/self/task")))
maps = open("/proc/self/maps").read()
print([name for name in ("libcuda", "libOpenCL", "openblas", "libblas.so") if name in maps])
"""
    seconds = []
    for _ in range(5):
        lines = python(code).stdout.splitlines()
        seconds.append(float(lines[0].split()[0]))
        assert lines[0].split()[1] == "1" and lines[1] == "[]"
    assert min(seconds) < 5e-3


def test_threads_can_be_asked_for_and_set():
    code = CALLS + """
before = lib.openblas_get_num_threads(); lib.openblas_set_num_threads(3); print(before, lib.openblas_get_num_threads())
"""
    assert python(code, OMP_NUM_THREADS=2).stdout.split() == ["2", "3"]


def test_a_setting_that_nobody_understands_is_named_where_calls_are():
    code = CALLS + """
d, n = (ctypes.c_double * 4)(), ctypes.c_double
for _ in range(2): lib.cblas_dgemm(102, 111, 111, 2, 2, 2, n(1), d, 2, d, 2, n(0), (ctypes.c_double * 4)(), 2)
"""
    said = python(code, EXACTILE_NUM_THREADS="many", EXACTILE_VERBOSE=1).stderr
    assert said.count("exactile: EXACTILE_NUM_THREADS = many: is ignored; expected a number from 1 to") == 1
    assert python(code, EXACTILE_NUM_THREADS="many").stderr == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run a program with more rights than its user")
def test_a_program_with_more_rights_than_its_user_ignores_the_environment():
    code = CALLS + """
d, n = (ctypes.c_double * 4)(1, 2, 3, 4), ctypes.c_double
lib.cblas_dgemm(102, 111, 111, 2, 2, 2, n(1), d, 2, d, 2, n(0), (ctypes.c_double * 4)(), 2)
lib.daxpy_(*[ctypes.byref(x) for x in (ctypes.c_int(1), n(1), d, ctypes.c_int(1), d, ctypes.c_int(1))])
print(d[0])
"""
    settings = {**os.environ, "EXACTILE_VERBOSE": "1", "EXACTILE_BLAS_FALLBACK": "/no/such.so"}
    for rights, status, said in ((None, 127, True), (lambda: os.setresuid(65534, 0, 0), 0, False)):
        done = subprocess.run([sys.executable, "-c", code], env=settings, preexec_fn=rights, capture_output=True, text=True,
                              check=False)
        assert (done.returncode, "exactile: DGEMM" in done.stderr) == (status, said), done.stderr
        assert said or (done.stdout, done.stderr) == ("2.0\n", "")


def test_preload_serves_numpy():
    code = """
import numpy as np
a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
assert (a @ b == [[sum(a[i, p] * b[p, j] for p in range(4)) for j in range(5)] for i in range(3)]).all()
assert (a.astype("f") @ b.astype("f") == a @ b).all()
"""
    text = python(code, LD_PRELOAD=LIBRARY, EXACTILE_VERBOSE=1, EXACTILE_BLAS_FALLBACK=other_blas()).stderr
    assert "exactile: DGEMM m=5 n=3 k=4 kernel=" in text and "exactile: SGEMM " in text


BAD = CALLS + """
t = ctypes.c_double if %(double)s else ctypes.c_float
i = lambda x: (ctypes.c_int * 1)(x)
p = (ctypes.c_void_p * 1)()
s = dict(order=102, ta=111, tb=111, m=4, n=4, k=4, lda=4, ldb=4, ldc=4, groups=1, count=1)
s.update(%(change)s)
if "%(kind)s" == "gemmtr":
    lib.cblas_%(letter)sgemmtr(s["order"], 121, s["ta"], s["tb"], s["n"], s["k"], t(1), None, s["lda"], None, s["ldb"], t(0), None,
                               s["ldc"])
elif "%(kind)s" == "gemm_batch_strided":
    lib.cblas_%(letter)sgemm_batch_strided(s["order"], s["ta"], s["tb"], s["m"], s["n"], s["k"], t(1), None, s["lda"], 16, None,
                                           s["ldb"], 16, t(0), None, s["ldc"], 16, s["count"])
else:
    lib.cblas_%(letter)sgemm_batch(s["order"], i(s["ta"]), i(s["tb"]), i(s["m"]), i(s["n"]), i(s["k"]), (t * 1)(1), p, i(s["lda"]),
                                   p, i(s["ldb"]), (t * 1)(0), p, i(s["ldc"]), s["groups"], i(s["count"]))
print("came back")
"""


@pytest.mark.parametrize("letter,double", (("s", False), ("d", True)))
@pytest.mark.parametrize("order", (101, 102))
@pytest.mark.parametrize("kind,numbers", (
    ("gemmtr", dict(ta=3, k=6, lda=9, ldb=11, ldc=14)),
    ("gemm_batch_strided", dict(ta=2, tb=3, m=4, n=5, k=6, lda=9, ldb=12, ldc=16, count=18)),
    ("gemm_batch", dict(ta=2, tb=3, m=4, n=5, k=6, lda=9, ldb=11, ldc=14, groups=15, count=16))))
def test_bad_parameters_are_named_as_the_c_call_counts_them(kind, numbers, order, letter, double):
    for name, number in numbers.items():
        change = f"{{'order': {order}, '{name}': -1}}"
        done = python(BAD % dict(double=double, letter=letter, kind=kind, change=change), expect=1)
        assert f"Parameter {number} to routine cblas_{letter}{kind} was incorrect" in done.stderr, (name, done.stderr)
        assert "came back" not in done.stdout


def test_the_time_of_a_routine_is_that_of_its_call():
    code = CALLS + """
import time
n = 400
a, b, c = ((ctypes.c_double * (n * n))(*range(n * n)) for _ in range(3))
d = ctypes.c_double
for _ in range(9):
    start = time.perf_counter()
    lib.cblas_dgemm(102, 111, 111, n, n, n, d(1), a, n, b, n, d(0), c, n)
    print((time.perf_counter() - start) * 1e6)
assert not [name for name in ("libcuda", "libOpenCL") if name in open("/proc/self/maps").read()]  # to name the kernel
"""
    done = python(code, EXACTILE_VERBOSE=1, OMP_NUM_THREADS=1)
    said = [float(x) for x in re.findall(r"DGEMM m=400 n=400 k=400 kernel=\S+ ([0-9.]+) us", done.stderr)]
    outside = [float(x) for x in done.stdout.split()]
    assert len(said) == 9 and all(inner < outer for inner, outer in zip(said, outside))
    assert min(said) > 0.5 * min(outside)  # the quickest: others were interrupted


def test_the_lists_of_names_agree():
    forwarded = set(re.findall(r"^forward (\w+)$", open(f"{SOURCE}/src/blas/forwarded.inc").read(), flags=re.M))
    assert forwarded <= exported(LIBRARY)


@pytest.mark.skipif(not FAKES, reason="a build with the CUDA backend inside opens no module")
@pytest.mark.parametrize("settings,negated", (({"EXACTILE_OFFLOAD": "auto"}, True), ({"EXACTILE_BACKEND": "cuda"}, False),
                                              ({"EXACTILE_OFFLOAD": "auto", "EXACTILE_BACKEND": "cpu"}, True)))
def test_products_go_to_a_device_only_where_offload_says_so(settings, negated):
    """The device is worth its first use after some hundred products; it negates them."""
    code = CALLS + """
n, f = 512, ctypes.c_float
a = (f * (n * n))(*([1] * (n * n))); c = (f * (n * n))()
for call in range(400):
    lib.cblas_sgemm(102, 111, 111, n, n, n, f(1), a, n, a, n, f(0), c, n)
    if c[0] == -n: break
print(c[0] / n)
"""
    out = python(code, LD_LIBRARY_PATH=FAKES, EXACTILE_CUDA_MODULE=f"{FAKES}/fake_module.so", OMP_NUM_THREADS=1, **settings)
    assert float(out.stdout) == (-1 if negated else 1)
