# SPDX-License-Identifier: Apache-2.0
"""What is forwarded, what is not, and how, before a cuBLAS, a driver and a device that are made here."""
import re
import subprocess

import pytest
from support import FAKE_MODULE, FAKES, LIBRARY, python

GEMMS = [stem + tail for stem in ("cublasSgemm_v2", "cublasSgemmStridedBatched", "cublasGemmEx",
                                  "cublasGemmStridedBatchedEx") for tail in ("", "_64")]

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
F32, F16, F32_COMPUTE, TF32_COMPUTE, PEDANTIC_COMPUTE = 0, 2, 68, 77, 69
handle = 0x1234
m, n, k, count = 3, 4, 5, 2
a = (c_float * 60)(*[x % 7 - 3 for x in range(60)]); b = (c_float * 60)(*[x % 5 - 2 for x in range(60)])
c = (c_float * 60)(*range(60))
alpha, beta = c_float(2), c_float(3)
at = ctypes.addressof
def values(form, what):
    return [{"p": c_void_p, "L": c_int64, "i": c_int}[kind](x) for kind, x in zip(form, what)]
def arguments(name, ta=N, tb=N, lda=m, ldb=k, ldc=m, types=(F32, F32, F32), compute=F32_COMPUTE, alpha=at(alpha), beta=at(beta),
              a=at(a), c=at(c), handle=handle, n=n, steps=(15, 20, 12)):
    i = "L" if name.endswith("_64") else "i"
    with_types, with_steps = "Ex" in name, "Strided" in name
    form, out = "pii" + i * 3 + "p", [handle, ta, tb, m, n, k, alpha]
    for which, (matrix, ld) in enumerate(((a, lda), (at(b), ldb), (c, ldc))):
        kind, step = types[which], steps[which]
        if which == 2:
            form += "p"; out.append(beta)
        form += "p" + "i" * with_types + i + "L" * with_steps
        out += [matrix] + [kind] * with_types + [ld] + [step] * with_steps
    if with_steps: form += i; out.append(count)
    if with_types: form += "ii"; out += [compute, -1]
    return form, out
def call(name, **change):
    form, out = arguments(name, **change)
    print("asked " + " ".join(f"{x & (2 ** 64 - 1):x}" if kind == "p" else str(x) for kind, x in zip(form, out)), flush=True)
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
"""


def run(code, **settings):
    return python(PROGRAM + code, EXACTILE_CUDA_MODULE=FAKE_MODULE, EXACTILE_VERBOSE=1, **settings)


def forwarded(done):
    """What cuBLAS was called with, beside what it was asked for."""
    calls = re.findall(r"^(cublas(?:Sgemm|Gemm)\S*) (.*)$", done.stdout, flags=re.M)
    return [what for name, what in calls], re.findall(r"^asked (.*)$", done.stdout, flags=re.M)


def test_only_the_wrapped_names_are_exported():
    text = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    names = [line.split()[2] for line in text.splitlines()]
    assert sorted(names) == sorted(GEMMS + ["cublasDestroy_v2", "cublasLtDestroy", "cublasLtMatmul"])
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"NEEDED.*(libstdc|libcuda|libcublas|libOpenCL)", needed)


@pytest.mark.parametrize("everywhere", (1, 0))  # a program may open its cuBLAS for all, or for itself
@pytest.mark.parametrize("name", GEMMS)
def test_products_of_f32_are_ours(name, everywhere):
    done = run(f"""
call("{name}")
assert list(c) == expected("{name}"), list(c)
""", GLOBAL=everywhere)
    assert "status 0" in done.stdout and forwarded(done)[0] == []
    assert re.search(rf"^exactile: {name} m=3 n=4 k=5 batch=\d kernel=fake_kernel [\d.]+ us$", done.stderr, flags=re.M)


@pytest.mark.parametrize("everywhere", (1, 0))
@pytest.mark.parametrize("name", GEMMS)
def test_all_is_forwarded_as_it_came_where_the_switch_is_off(name, everywhere):
    done = run(f"""
c_int.in_dll(cublas, "fake_status").value = 15
call("{name}", ta=T, tb=C, lda=7, ldb=8, ldc=9)
assert list(c) == list(range(60))
""", EXACTILE_CUBLAS=0, GLOBAL=everywhere)
    given, asked = forwarded(done)
    assert given == asked and len(given) == 1 and "status 15" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("reason,change", (
    ("other types", "types=(F16, F16, F16)"), ("other types", "types=(F32, F32, F16)"),
    ("other types", "compute=TF32_COMPUTE"), ("other types", "compute=PEDANTIC_COMPUTE")))
@pytest.mark.parametrize("name", [name for name in GEMMS if "Ex" in name])
def test_other_types_and_ways_to_compute_are_cublas_own(name, reason, change):
    done = run(f'call("{name}", {change})')
    given, asked = forwarded(done)
    assert given == asked and len(given) == 1 and f"exactile: {name} forwarded: {reason}" in done.stderr


@pytest.mark.parametrize("change", ("lda=2", "ldb=4", "ldc=2", "ta=7", "n=0", "n=-1", "a=0", "c=0", "alpha=0", "beta=0",
                                    "handle=0"))
@pytest.mark.parametrize("name", GEMMS)
def test_bad_arguments_and_empty_products_are_cublas_to_judge(name, change):
    done = run(f"""
c_int.in_dll(cublas, "fake_status").value = 7
call("{name}", {change})
assert list(c) == list(range(60))
""")
    given, asked = forwarded(done)
    assert given == asked and len(given) == 1 and "status 7" in done.stdout
    assert done.stderr == f"exactile: {name} forwarded: empty, or with a bad argument\n"


@pytest.mark.parametrize("setting,value,reason", (
    ("fake_pointer_mode", 1, "factors in device memory"), ("fake_math_mode", 3, "another math mode"),
    ("fake_math_mode", 2, "another math mode"), ("fake_math_mode", 1, "another math mode"),
    ("fake_math_mode", 4, "another math mode"), ("fake_sm_count", 8, "fewer SMs")))
def test_the_settings_of_a_handle_count(setting, value, reason):
    done = run(f"""
setting = c_int.in_dll(cublas, "{setting}")
setting.value = {value}
call("cublasSgemm_v2")
setting.value = 0
call("cublasSgemm_v2")
""")
    given, asked = forwarded(done)
    assert given == asked[:1] and f"forwarded: {reason}" in done.stderr and "kernel=fake_kernel" in done.stderr


def test_how_narrow_sums_are_kept_says_nothing_of_f32():
    done = run('c_int.in_dll(cublas, "fake_math_mode").value = 16\ncall("cublasSgemm_v2")')
    assert forwarded(done)[0] == []


@pytest.mark.parametrize("device,reason", (("slowest", "no kernel is estimated to be faster than cuBLAS"),
                                           ("full", "the fake device is full")))
def test_what_the_library_cannot_do_better_is_forwarded(device, reason):
    done = run('call("cublasSgemm_v2")\ncall("cublasSgemm_v2")', FAKE_DEVICE=device)
    given, asked = forwarded(done)
    assert given == asked and len(given) == 2 and done.stderr.count(f"forwarded: {reason}") == 2


def test_a_device_that_fails_is_answered():
    done = run('call("cublasSgemm_v2")', FAKE_DEVICE="broken")
    assert forwarded(done)[0] == [] and "status 13" in done.stdout


def test_a_missing_module_leaves_all_to_cublas(tmp_path):
    done = python(PROGRAM + 'call("cublasSgemm_v2")', EXACTILE_CUDA_MODULE=tmp_path / "none.so", EXACTILE_VERBOSE=1)
    given, asked = forwarded(done)
    assert given == asked and "the CUDA module is not there" in done.stderr


def test_a_c_among_a_is_left_to_cublas():
    done = run('call("cublasSgemm_v2", c=at(a))')
    given, asked = forwarded(done)
    assert given == asked and "shares memory" in done.stderr


def test_tf32_for_the_whole_process_is_given():
    assert len(forwarded(run('call("cublasSgemm_v2")', NVIDIA_TF32_OVERRIDE=1))[0]) == 1


def events(done):
    return re.findall(r"^(allocate|free at the end|free|wait|record) stream=(\w+)$", done.stdout, flags=re.M)


def test_a_workspace_is_shared_by_the_streams_of_a_handle_in_order_and_goes_with_it():
    done = run("""
stream = c_void_p.in_dll(cublas, "fake_stream")
for which in (0x10, 0x20, 0x20):
    stream.value = which
    call("cublasSgemm_v2")
here.cublasDestroy_v2(c_void_p(handle))
""", FAKE_DEVICE="needy")
    assert events(done) == [("wait", "10"), ("allocate", "10"), ("record", "10"), ("wait", "20"), ("record", "20"),
                            ("wait", "20"), ("record", "20"), ("free at the end", "0")]
    assert "cublasDestroy_v2 1234" in done.stdout and forwarded(done)[0] == []


def test_a_captured_product_has_memory_of_its_graph_and_has_run_before():
    done = run("""
c_void_p.in_dll(cublas, "fake_stream").value = 0x10
capture = c_int.in_dll(driver, "fake_capture")
capture.value = 1
call("cublasSgemm_v2")
capture.value = 0
call("cublasSgemm_v2")
capture.value = 1
call("cublasSgemm_v2")
""", FAKE_DEVICE="needy")
    given, asked = forwarded(done)
    assert given == asked[:1] and "it is captured, and has not run before" in done.stderr
    assert events(done) == [("wait", "10"), ("allocate", "10"), ("record", "10"), ("allocate", "10"), ("free", "10")]


def test_where_a_capture_forbids_it_or_memory_is_short_nothing_is_allocated():
    done = run("""
result = c_int.in_dll(driver, "fake_capture_result")
result.value = 906  # another stream is captured, and this one is the legacy stream
call("cublasSgemm_v2")
result.value = 0
c_longlong.in_dll(driver, "fake_free_bytes").value = 1000
call("cublasSgemm_v2")
""", FAKE_DEVICE="needy")
    given, asked = forwarded(done)
    assert given == asked and len(given) == 2 and "no device memory for the workspace" in done.stderr
    assert [what for what, stream in events(done)] == ["wait"]


LT = """
def described(kind, **attributes):
    numbers = dict(TYPE=(0, c_uint32), ORDER=(1, c_int32), ROWS=(2, c_uint64), COLS=(3, c_uint64), LD=(4, c_int64), BATCH=(5, c_int32),
                   STEP=(6, c_int64)) if kind == "layout" else dict(
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
    passed = [handle, described("operation", **{**plain, **operation}), at(alpha), at(a), layouts[0], at(b), layouts[1], beta,
              c_data, layouts[2], at(c), layouts[3], 0x77, 0x88, 0x99, 0xaa]
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
    "operation=dict(EPILOGUE=130)", "operation=dict(EPILOGUE=4)", "operation=dict(EPILOGUE=4, BIAS=at(bias), BIAS_TYPE=2)",
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


def test_loading_starts_no_thread_and_opens_no_driver():
    done = python("""
import os
print(len(os.listdir("/proc/self/task")))
maps = open("/proc/self/maps").read()
print([name for name in ("libcuda", "libOpenCL", "libcublas.so") if name in maps], "libexactile_cublas" in maps)
""")
    assert done.stdout.split("\n")[:2] == ["1", "[] True"]
