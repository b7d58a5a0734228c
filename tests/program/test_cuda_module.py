# SPDX-License-Identifier: Apache-2.0
"""The program without an NVIDIA driver, without the CUDA module, and with modules that cannot be used."""
import ctypes
import os
import shutil

import pytest

FAKES = os.environ["EXACTILE_FAKE_MODULES"]


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def reason(program):
    """Why there is no CUDA device, as `devices` says; everything else must go on."""
    cuda = [d for d in program.json("devices")["devices"] if d["backend"] == "cuda"]
    assert [d["available"] for d in cuda] == [False]
    product = ("--m", 20, "--n", 20, "--k", 20)
    done = program("explain", *product, "--backend", "cuda", code=4)
    assert cuda[0]["reason"] in done.stderr
    assert cuda[0]["reason"] in program("explain", *product).stdout
    assert cuda[0]["reason"] in program("explain", *product, "--kernel", "sm90_f64_mma", code=2).stderr
    program("verify", *product, "--type", "f32")
    return cuda[0]["reason"]


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", FAKES)
    monkeypatch.delenv("EXACTILE_CUDA_MODULE", raising=False)


def test_no_driver(program):
    if has_driver():
        pytest.skip("there is a driver")
    assert reason(program) == "no NVIDIA driver is installed"


def test_a_module_that_cannot_be_used(program, driver, monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_text("no shared object")
    for module, words in [("/nowhere/x.so", "the CUDA module is not there: looked for /nowhere/x.so"),
                          (broken, "the CUDA module cannot be opened: "),
                          ("x.so", "EXACTILE_CUDA_MODULE = x.so: expected an absolute path"),
                          (FAKES + "/no_function.so", "it has no exactile_cuda_module"),
                          (FAKES + "/other_build.so", "is of another build of exactile (0.0.9 of old); expected 0.")]:
        monkeypatch.setenv("EXACTILE_CUDA_MODULE", str(module))
        assert words in reason(program)


def test_the_working_directory_is_no_place(program, driver, tmp_path):
    """The module lies in the working directory, and the program in a folder without one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(os.environ["EXACTILE_PROGRAM"], folder / "exactile")
    shutil.copy(FAKES + "/fake_module.so", tmp_path / "libexactile_cuda.so")
    alone = type(program)(tmp_path)
    alone.path = folder / "exactile"
    assert "the CUDA module is not there: looked for " + str(folder) in reason(alone)
    shutil.move(tmp_path / "libexactile_cuda.so", folder)
    cuda = [d for d in alone.json("devices")["devices"] if d["backend"] == "cuda"]
    assert [d["name"] for d in cuda] == ["fake"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a set-uid program for another user")
def test_a_set_uid_program_ignores_the_variable(program, driver, monkeypatch, tmp_path):
    """Its loader ignores LD_LIBRARY_PATH too, so the driver must be a real one for the sentence to differ."""
    if not has_driver():
        pytest.skip("no driver")
    copied = shutil.copy(os.environ["EXACTILE_PROGRAM"], tmp_path / "exactile")
    os.chown(copied, 65534, 65534)
    os.chmod(copied, 0o4755)
    os.chmod(tmp_path, 0o755)
    monkeypatch.setenv("EXACTILE_CUDA_MODULE", "/nowhere/x.so")
    alone = type(program)(tmp_path)
    alone.path = copied
    assert "/nowhere/x.so" not in str(alone.json("devices")["devices"])
