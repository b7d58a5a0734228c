# SPDX-License-Identifier: Apache-2.0
"""What is forwarded, what is not, and how, before a cuBLAS, a driver and a device that are made here."""
import re
import subprocess

import pytest
from fakes import PROGRAM, forwarded, run
from support import LIBRARY, python

EX = [stem + tail for stem in ("cublasGemmEx", "cublasGemmStridedBatchedEx") for tail in ("", "_64")]
SGEMMS = [stem + tail for stem in ("cublasSgemm_v2", "cublasSgemmStridedBatched") for tail in ("", "_64")]
CGEMMS = [name.replace("Sgemm", "Cgemm") for name in SGEMMS]
GEMMS = SGEMMS + CGEMMS + EX


def test_only_the_wrapped_names_are_exported():
    text = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    names = [line.split()[2] for line in text.splitlines()]
    assert sorted(names) == sorted(GEMMS + ["cublasDestroy_v2", "cublasLtDestroy", "cublasLtMatmul"])
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"NEEDED.*(libstdc|libcuda|libcublas|libOpenCL)", needed)


@pytest.mark.parametrize("everywhere", (1, 0))  # a program may open its cuBLAS for all, or for itself
@pytest.mark.parametrize("name", SGEMMS + EX)
def test_products_of_f32_are_ours(name, everywhere):
    done = run(f"""
call("{name}")
assert list(c) == expected("{name}"), list(c)
""", GLOBAL=everywhere)
    assert "status 0" in done.stdout and forwarded(done)[0] == []
    assert re.search(rf"^exactile: {name} m=3 n=4 k=5 batch=\d kernel=fake_kernel [\d.]+ us$", done.stderr, flags=re.M)


@pytest.mark.parametrize("name", CGEMMS + EX)
def test_products_of_complex_f32_are_ours(name):
    done = run(f"""
old = numbers(complex_c)
call_complex("{name}", ta=C, tb=T, lda=k, ldb=n)
assert numbers(complex_c) == expected_complex("{name}", old), numbers(complex_c)
""")
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
    ("other types", "types=(C32, C32, F32)"), ("other types", "types=(C32, F32, F32)"),
    ("other types", "compute=TF32_COMPUTE"), ("other types", "compute=PEDANTIC_COMPUTE")))
@pytest.mark.parametrize("name", EX)
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
@pytest.mark.parametrize("call", ('call("cublasSgemm_v2")', 'call_complex("cublasCgemm_v2")'))
def test_what_the_library_cannot_do_better_is_forwarded(call, device, reason):
    done = run(f"{call}\n{call}", FAKE_DEVICE=device)
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


def test_loading_starts_no_thread_and_opens_no_driver():
    done = python("""
import os
print(len(os.listdir("/proc/self/task")))
maps = open("/proc/self/maps").read()
print([name for name in ("libcuda", "libOpenCL", "libcublas.so") if name in maps], "libexactile_cublas" in maps)
""")
    assert done.stdout.split("\n")[:2] == ["1", "[] True"]
