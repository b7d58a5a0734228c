# SPDX-License-Identifier: Apache-2.0
"""cublasLtMatmul before a cuBLAS, a driver and a device that are made here."""
import re

import pytest
from fakes import run

LT = """
def described(kind, **attributes):
    numbers = dict(
        TYPE=(0, c_uint32), ORDER=(1, c_int32), ROWS=(2, c_uint64), COLS=(3, c_uint64), LD=(4, c_int64),
        BATCH=(5, c_int32), STEP=(6, c_int64)) if kind == "layout" else dict(
        COMPUTE=(0, c_int32), SCALE=(1, c_int32), POINTERS=(2, c_int32), TRANSA=(3, c_int32), TRANSB=(4, c_int32),
        EPILOGUE=(7, c_uint32), BIAS=(8, c_void_p), BIAS_STEP=(10, c_int64), SMS=(15, c_int32), A_SCALE=(17, c_void_p),
        BIAS_TYPE=(26, c_int32))
    lt.fake_descriptor.restype = c_void_p
    made = lt.fake_descriptor()
    for name, value in attributes.items():
        which, form = numbers[name]
        lt.fake_set(c_void_p(made), which, ctypes.byref(form(value)), c_size_t(ctypes.sizeof(form)))
    return made
bias = (c_float * m)(100, -1000, 300)
def matmul(operation={}, a_layout={}, c_layout={}, d_layout={}, c_data=at(c), beta=at(beta)):
    plain = dict(COMPUTE=F32_COMPUTE, SCALE=F32, POINTERS=0)
    layouts = [described("layout", **{**dict(TYPE=F32, ROWS=r, COLS=s, LD=r), **more})
               for r, s, more in ((m, k, a_layout), (k, n, {}), (m, n, c_layout), (m, n, d_layout))]
    passed = [handle, described("operation", **{**plain, **operation}), at(alpha), at(a), layouts[0], at(b), layouts[1],
              beta, c_data, layouts[2], at(c), layouts[3], 0x77, 0x88, 0x99, 0xaa]
    print("asked", " ".join(f"{x:x}" for x in passed), flush=True)
    print("status", here.cublasLtMatmul(*[c_void_p(x) for x in passed]), flush=True)
"""


def forwarded_lt(done):
    return (re.findall(r"^cublasLtMatmul (.*)$", done.stdout, flags=re.M),
            re.findall(r"^asked (.*)$", done.stdout, flags=re.M))


@pytest.mark.parametrize("operation,check", (
    ("", "expected('')"),
    ("EPILOGUE=4, BIAS=at(bias)", "[x + (bias[q % m] if q < 12 else 0) for q, x in enumerate(expected(''))]"),
    ("EPILOGUE=6, BIAS=at(bias)", "[max(x + bias[q % m], 0) if q < 12 else x for q, x in enumerate(expected(''))]"),
    ("EPILOGUE=2", "[max(x, 0) for x in expected('')]")))
def test_matmul_with_its_epilogues_is_ours(operation, check):
    done = run(LT + f"matmul(operation=dict({operation}))\nassert list(c) == {check}, (list(c), {check})\n")
    assert "status 0" in done.stdout and forwarded_lt(done)[0] == []
    assert "cublasLtMatmul m=3 n=4 k=5 batch=1 kernel=fake_kernel" in done.stderr


def test_matmul_to_a_d_apart_from_c_leaves_c_as_it_was():
    done = run(LT + """
apart = (c_float * 60)(*range(60))
matmul(c_data=at(apart))
assert list(c) == expected('') and list(apart) == list(range(60))
matmul(c_data=at(apart), c_layout=dict(ORDER=1, LD=n))
assert list(c)[:12] == [expected('')[q] + 3 * ((q % m) * n + q // m - q) for q in range(12)]
""")
    assert forwarded_lt(done)[0] == []


def test_matmul_of_a_transposed_matrix_that_lies_by_rows():
    done = run(LT + """
matmul(operation=dict(TRANSA=T), a_layout=dict(ORDER=1, ROWS=k, COLS=m, LD=m))
assert list(c) == expected('')
""")
    assert forwarded_lt(done)[0] == []


@pytest.mark.parametrize("change", (
    "operation=dict(COMPUTE=TF32_COMPUTE)", "operation=dict(POINTERS=1)", "operation=dict(EPILOGUE=32)",
    "operation=dict(EPILOGUE=130)", "operation=dict(EPILOGUE=4)",
    "operation=dict(EPILOGUE=4, BIAS=at(bias), BIAS_TYPE=2)",
    "operation=dict(SMS=8)", "operation=dict(A_SCALE=16)", "a_layout=dict(TYPE=F16)", "a_layout=dict(ORDER=2)",
    "a_layout=dict(BATCH=2)", "a_layout=dict(COLS=9)", "beta=0", "c_data=0"))
def test_matmul_of_another_kind_is_forwarded_as_it_came(change):
    done = run(LT + f"matmul({change})\nassert list(c) == list(range(60))\n")
    given, asked = forwarded_lt(done)
    assert given == asked and len(given) == 1 and "status 15" in done.stdout


def test_matmul_is_forwarded_where_the_switch_is_off():
    done = run(LT + "matmul()\nhere.cublasLtDestroy(c_void_p(handle))", EXACTILE_CUBLAS=0)
    given, asked = forwarded_lt(done)
    assert given == asked and len(given) == 1 and done.stderr == "" and "cublasLtDestroy" in done.stdout
