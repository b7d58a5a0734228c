# SPDX-License-Identifier: Apache-2.0
"""A program whose cuBLAS, driver and device are made here, and what it was answered by whom."""
import re

from support import FAKE_MODULE, python

# A program whose cuBLAS and driver are the fakes; a product of the device is negated. The library's, wherever it is
# called, is found as a program's import is: in the global scope, where it comes first.
PROGRAM = """
import ctypes, os
from ctypes import c_char, c_float, c_int, c_int32, c_int64, c_longlong, c_size_t, c_uint32, c_uint64, c_void_p
kind = ctypes.RTLD_GLOBAL if os.environ.get("GLOBAL", "1") == "1" else ctypes.RTLD_LOCAL
driver = ctypes.CDLL(os.environ["EXACTILE_FAKES"] + "/libcuda.so.1", kind)
cublas = ctypes.CDLL(os.environ["EXACTILE_FAKES"] + "/libcublas.so.13", kind)
lt = ctypes.CDLL(os.environ["EXACTILE_FAKES"] + "/libcublasLt.so.13", kind)
here = ctypes.CDLL(None)
N, T, C = 0, 1, 2
C32 = 4
F32, F16, F32_COMPUTE, TF32_COMPUTE, PEDANTIC_COMPUTE = 0, 2, 68, 77, 69
handle = 0x1234
m, n, k, count = 3, 4, 5, 2
a = (c_float * 60)(*[x % 7 - 3 for x in range(60)]); b = (c_float * 60)(*[x % 5 - 2 for x in range(60)])
c = (c_float * 60)(*range(60))
alpha, beta = c_float(2), c_float(3)
complex_a, complex_b, complex_c = ((c_float * 120)(*[x % q - q // 2 for x in range(120)]) for q in (7, 5, 9))
complex_alpha, complex_beta = (c_float * 2)(2, 1), (c_float * 2)(3, -1)
at = ctypes.addressof
def values(form, what):
    return [{"p": c_void_p, "L": c_int64, "i": c_int}[kind](x) for kind, x in zip(form, what)]
def arguments(name, ta=N, tb=N, lda=m, ldb=k, ldc=m, types=(F32, F32, F32), compute=F32_COMPUTE, alpha=at(alpha),
              beta=at(beta), a=at(a), b=at(b), c=at(c), handle=handle, n=n, steps=(15, 20, 12)):
    i = "L" if name.endswith("_64") else "i"
    with_types, with_steps = "Ex" in name, "Strided" in name
    form, out = "pii" + i * 3 + "p", [handle, ta, tb, m, n, k, alpha]
    for which, (matrix, ld) in enumerate(((a, lda), (b, ldb), (c, ldc))):
        kind, step = types[which], steps[which]
        if which == 2:
            form += "p"; out.append(beta)
        form += "p" + "i" * with_types + i + "L" * with_steps
        out += [matrix] + [kind] * with_types + [ld] + [step] * with_steps
    if with_steps: form += i; out.append(count)
    if with_types: form += "ii"; out += [compute, -1]
    return form, out
def call_complex(name, **change):
    given = dict(a=at(complex_a), b=at(complex_b), c=at(complex_c), alpha=at(complex_alpha), beta=at(complex_beta))
    call(name, types=(C32, C32, C32), **{**given, **change})
def call(name, **change):
    form, out = arguments(name, **change)
    said = [f"{x & (2 ** 64 - 1):x}" if kind == "p" else str(x) for kind, x in zip(form, out)]
    print("asked", *said, flush=True)
    status = getattr(here, name)(*values(form, out))
    print("status", status, flush=True)
def expected(name):
    old, batched = range(60), "Strided" in name
    out = list(map(float, old))
    for p in range(count if batched else 1):
        for i in range(m):
            for j in range(n):
                total = sum(a[15 * p + i + m * x] * b[20 * p + x + k * j] for x in range(k))
                out[12 * p + i + m * j] = 3 * old[12 * p + i + m * j] - 2 * total
    return out
def numbers(pairs):
    return [complex(*pairs[x:x + 2]) for x in range(0, len(pairs), 2)]
def expected_complex(name, old):
    # With ta=C and tb=T.
    a, b, out = numbers(complex_a), numbers(complex_b), list(old)
    for p in range(count if "Strided" in name else 1):
        for i in range(m):
            for j in range(n):
                total = sum(a[15 * p + x + k * i].conjugate() * b[20 * p + j + n * x] for x in range(k))
                out[12 * p + i + m * j] = (3 - 1j) * old[12 * p + i + m * j] - (2 + 1j) * total
    return out
"""


def run(code, **settings):
    return python(PROGRAM + code, EXACTILE_CUDA_MODULE=FAKE_MODULE, EXACTILE_VERBOSE=1, **settings)


def forwarded(done):
    """What cuBLAS was called with, beside what it was asked for."""
    calls = re.findall(r"^(cublas(?:Sgemm|Cgemm|Gemm)\S*) (.*)$", done.stdout, flags=re.M)
    return [what for name, what in calls], re.findall(r"^asked (.*)$", done.stdout, flags=re.M)
