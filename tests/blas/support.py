# SPDX-License-Identifier: Apache-2.0
"""How the tests run a program under the library."""
import glob
import os
import subprocess
import sys

LIBRARY = os.environ["EXACTILE_BLAS"]
PROVIDER = os.environ["EXACTILE_PROVIDER"]
SOURCE = os.environ["EXACTILE_SOURCE"]
STAND_IN = os.environ["EXACTILE_STAND_IN"]  # for an OpenBLAS, over the reference
FAKES = os.environ.get("EXACTILE_FAKE_MODULES", "")  # a driver and a device that negates its products
REFERENCE = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"


def run(command, expect=0, text="", **settings):
    """The finished process; `settings` are environment variables. `expect` is its status, None any."""
    environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=1800, env=environment)
    assert expect in (None, done.returncode), done.stdout[-2000:] + done.stderr[-2000:]
    return done


def python(code, expect=0, **settings):
    return run([sys.executable, "-c", code], expect, **settings)


def exported(library):
    lines = run(["nm", "-D", "--defined-only", library]).stdout.splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}


def other_blas():
    """A BLAS to forward to that is not this library: the reference."""
    assert os.path.exists(REFERENCE), "install libblas3 (packages.txt)"
    return REFERENCE


def folder_of(folder):
    """Where Debian's libblas-test and liblapack-test put their programs."""
    for root in (os.environ.get("EXACTILE_TESTERS", ""), "/usr/lib/x86_64-linux-gnu"):
        if root and glob.glob(f"{root}/{folder}/x*"):
            return f"{root}/{folder}"
    raise AssertionError("install libblas-test and liblapack-test (packages.txt)")
