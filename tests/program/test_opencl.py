# SPDX-License-Identifier: Apache-2.0
"""OpenCL as the program meets it: no loader, no driver, a wrong library; and kernels in a simulator that sees stray
accesses and races."""
import json
import os
import subprocess

import pytest

SIMULATOR = "/usr/lib/oclgrind/liboclgrind-rt.so"
KERNELS = ["opencl_tiled", "opencl_tiled_kahan", "opencl_vectors", "opencl_register_blocked", "opencl_padded",
           "opencl_prefetch", "opencl_direct", "opencl_packed"]


def opencl_devices(program):
    return [d for d in program.json("devices")["devices"] if d["backend"] == "opencl"]


@pytest.mark.parametrize("name, value, says", [
    ("EXACTILE_OPENCL_LIBRARY", "/nowhere/libOpenCL.so.1", "no OpenCL loader"),
    ("EXACTILE_OPENCL_LIBRARY", "libm.so.6", "has no clGetPlatformIDs"),
    ("OCL_ICD_VENDORS", "/nowhere", "OpenCL loader")])
def test_without_opencl_everything_else_works(program, monkeypatch, name, value, says):
    monkeypatch.setenv(name, value)
    devices = opencl_devices(program)
    assert [d["available"] for d in devices] == [False]
    assert says in devices[0]["reason"]
    program("verify", "--m", 20, "--n", 20, "--k", 20, "--type", "f32")
    done = program("explain", "--m", 20, "--n", 20, "--k", 20, "--backend", "opencl", code=4)
    assert says in done.stderr


def test_without_sys_no_driver_ends_the_process(program):
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        pytest.skip("only root can hide /sys")
    done = subprocess.run([*hidden, program.path, "devices", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    devices = [d for d in json.loads(done.stdout)["devices"] if d["backend"] == "opencl"]
    assert [d["available"] for d in devices] == [False] and "/sys is not mounted" in devices[0]["reason"]


def test_a_device_that_is_not_there(program):
    if not any(d["available"] for d in opencl_devices(program)):
        pytest.skip("no OpenCL device")
    done = program("explain", "--m", 20, "--n", 20, "--k", 20, "--backend", "opencl", "--device", 99, code=4)
    assert "no OpenCL device of that number" in done.stderr


@pytest.mark.parametrize("command", [("bench", "--m", 20, "--n", 20, "--k", 20, "--seconds", 0), ("ladder", 20, 20, 20)])
def test_memory_of_the_device_whose_kernel_is_named(program, command):
    if not any(d["available"] for d in opencl_devices(program)):
        pytest.skip("no OpenCL device")
    done = program(*command, "--kernel", "opencl_direct", "--memory", "device")
    assert "opencl_direct" in done.stdout
    assert "not run" not in done.stderr


@pytest.mark.skipif(not os.path.exists(SIMULATOR), reason="oclgrind is not installed")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", [(), ("--layout-b", "1,9", "--layout-c", "1,7")])
def test_the_simulator_finds_nothing(program, monkeypatch, tmp_path, kernel, layout):
    """7 x 5 x 9: borders on every side of every tile. Two of the fills are enough for where kernels read and write."""
    for name, value in (("EXACTILE_OPENCL_LIBRARY", SIMULATOR), ("OCLGRIND_DATA_RACES", "1"), ("OCLGRIND_CHECK_API", "1"),
                        ("XDG_CACHE_HOME", str(tmp_path / "cache"))):
        monkeypatch.setenv(name, value)
    done = program("verify", "--m", 7, "--n", 5, "--k", 9, "--type", "f32", "--kernel", kernel, "--fill", "normal", *layout)
    for trouble in ("Invalid", "race", "divergence", "Error"):
        assert trouble not in done.stderr + done.stdout, done.stderr


def test_the_ladder_does_not_time_compilers(program, monkeypatch, tmp_path):
    """With nothing compiled yet the first call of a kernel takes longer than the product: all of its rows are timed."""
    if not any(d["available"] for d in opencl_devices(program)):
        pytest.skip("no OpenCL device")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    size = 400
    rows = program.json("ladder", size, size, size, "--kernel", "opencl_padded")["results"]
    assert {row["kernel"]: row["timed_rows"] for row in rows} == {"cpu_naive": size, "opencl_padded": size}
