# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows is what happens, and the annotations hold."""
import doctest
import re
import subprocess
import sys
from pathlib import Path

import exactile
import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_guide():
    guide = ROOT / "python" / "README.md"
    result = doctest.testfile(str(guide), module_relative=False,
                              optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 10 and result.failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_page(page):
    pieces = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    assert pieces
    for piece in pieces:
        exec(compile(piece, page, "exec"), {})


def test_docstring():
    assert doctest.testmod(exactile).failed == 0
    for name in exactile.__all__:
        assert name == "__version__" or getattr(exactile, name).__doc__


def test_annotations(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p",
                           "exactile", "--cache-dir", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_version_is_that_of_the_build():
    assert f"project(exactile VERSION {exactile.__version__} " in (ROOT / "CMakeLists.txt").read_text()
