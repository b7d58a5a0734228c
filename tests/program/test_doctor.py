# SPDX-License-Identifier: Apache-2.0
"""`doctor`: within a second, and which BLAS a program, a process or a Python package uses."""
import os
import shutil
import subprocess
import sys
import time

import pytest
from conftest import SANITIZED


def blas(program, *arguments):
    return [f for f in program.json("doctor", *arguments)["findings"] if f["topic"] in ("BLAS", "behind it", "several")]


def test_within_a_second(program):
    program("doctor")
    begin = time.monotonic()
    used = os.times()
    program("doctor")
    after = os.times()
    # Its own work: the machine may be busy with that of others.
    work = after.children_user + after.children_system - used.children_user - used.children_system
    assert min(work, time.monotonic() - begin) < (10 if SANITIZED else 1)


def test_what_answers_to_libblas(program):
    (finding,) = blas(program)
    if finding["state"] == "missing":
        pytest.skip("this machine has no libblas.so.3")
    assert finding["what"].startswith("libblas.so.3 is /")


def test_limits(program):
    def little_address_space():
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (48 << 30, resource.RLIM_INFINITY))
    limits = [line for line in program("doctor", limits=little_address_space).stdout.splitlines() if "limits" in line]
    assert any("limited: address space 51" in line for line in limits), limits


def test_a_program_without_a_blas(program):
    (finding,) = blas(program, "/bin/ls")
    assert finding["state"] == "missing" and "no library that has dgemm" in finding["why"]
    assert blas(program, "ls")[0]["what"] == "none"


def test_a_python_package(program, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if subprocess.run(["python3", "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
        pytest.skip("python3 has no numpy")
    first, *_ = blas(program, "numpy")
    assert first["topic"] == "BLAS" and "/" in first["what"]
    assert "LD_PRELOAD=libexactile_blas.so" in first["advice"] or first["what"].startswith("exactile")


def test_ours_by_preloading(program, monkeypatch):
    library = os.environ.get("EXACTILE_BLAS")
    if not library:
        pytest.skip("this build has no libexactile_blas.so")
    monkeypatch.setenv("LD_PRELOAD", library)
    first, *_ = blas(program, "/bin/ls")
    assert first["state"] == "found" and first["what"].startswith("exactile: ") and first["what"].endswith(os.path.basename(
        os.path.realpath(library)))
    monkeypatch.delenv("LD_PRELOAD")
    sleeper = subprocess.Popen(["sleep", "60"], env={**os.environ, "LD_PRELOAD": library})
    try:
        deadline = time.monotonic() + 20
        while (found := blas(program, sleeper.pid))[0]["state"] == "missing" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found[0]["what"].startswith("exactile: ")
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("what,says", [
    ("no_such_program_or_package", "is no program in PATH, and"), ("99999999", "there is no such process"),
    ("/etc/passwd", "is no 64-bit ELF program"), ("/nowhere", "is no 64-bit ELF program"),
    ("os; print(1)", "is no program in PATH; expected")])
def test_what_is_no_program(program, what, says):
    program.refuses("doctor", what, code=2, says=says)


def test_a_damaged_program(program):
    """Tables that point outside of the file are no tables."""
    content = bytearray(open(shutil.which("ls"), "rb").read())
    (program.folder / "short").write_bytes(content[:64])
    content[32:64] = b"\xff" * 32
    (program.folder / "wild").write_bytes(content)
    for name in ("./short", "./wild"):
        done = program("doctor", name)
        assert "unknown" in done.stdout and "statically" in done.stdout
