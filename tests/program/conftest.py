# SPDX-License-Identifier: Apache-2.0
"""Runs the program (its path is in EXACTILE_PROGRAM) in a folder of its own and looks at what it leaves."""
import json
import os
import subprocess

import numpy as np
import pytest

PROGRAM = os.environ["EXACTILE_PROGRAM"]
SANITIZED = "EXACTILE_SANITIZED" in os.environ


class Program:
    """The program, run in `folder`."""

    path = PROGRAM

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, code=0, limits=None):
        """Runs to the end, checks the exit code and answers the finished process."""
        done = subprocess.run([self.path, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              preexec_fn=limits, timeout=500)
        assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}\n{done.stdout}"
        return done

    def json(self, *arguments, **options):
        done = self(*arguments, "--json", **options)
        return json.loads(done.stdout)

    def start(self, *arguments, **options):
        """Starts it and answers the running process."""
        return subprocess.Popen([self.path, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def multiply(self, a, b, *arguments):
        """Saves two arrays, multiplies them, and answers the loaded product."""
        np.save(self.folder / "a.npy", a)
        np.save(self.folder / "b.npy", b)
        self("multiply", "a.npy", "b.npy", "-o", "c.npy", "--verify", *arguments)
        return np.load(self.folder / "c.npy")

    def refuses(self, *arguments, code, says, **options):
        """The run fails with that code and words on stderr, writes no result and leaves the folder as it was."""
        before = sorted(self.folder.rglob("*"))
        done = self(*arguments, code=code, **options)
        for words in says if isinstance(says, (list, tuple)) else [says]:
            assert words in done.stderr, done.stderr
        assert done.stderr.startswith("exactile: ")
        assert done.stdout == ""
        assert sorted(self.folder.rglob("*")) == before
        return done


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


@pytest.fixture
def random():
    return np.random.default_rng(1)
