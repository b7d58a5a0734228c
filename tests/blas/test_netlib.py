# SPDX-License-Identifier: Apache-2.0
"""netlib's own testers of BLAS and CBLAS with their error exits, and with larger sizes."""
import os
import re

import pytest
from support import PROVIDER, folder_of, other_blas, run


def run_tester(name, data, folder):
    """Output of the tester, files that it writes included, and the calls that were ours."""
    text = open(data, encoding="ascii").read() if isinstance(data, str) and os.path.exists(data) else data
    done = run([f"{folder_of('blas')}/{name}"], text=text, LD_LIBRARY_PATH=os.path.dirname(PROVIDER),
               EXACTILE_BLAS_FALLBACK=other_blas(), EXACTILE_VERBOSE=1)
    written = "".join(open(f, encoding="ascii").read() for f in folder_files(folder))
    return done.stdout + written, done.stderr


def folder_files(folder):
    return [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".out")]


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("level", (1, 2, 3))
@pytest.mark.parametrize("interface", ("blas", "cblas"))
def test_tester(interface, level, letter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    where = folder_of("blas")
    if interface == "blas":
        name, data = f"xblat{level}{letter}", f"{where}/{letter}blat{level}.in"
    else:
        name, data = f"x{letter}cblat{level}", f"{where}/{letter}in{level}"
    output, ours = run_tester(name, data if level > 1 else "", str(tmp_path))
    passed = len(re.findall(r"PASS", output))
    assert passed >= {1: 10, 2: 32, 3: 13}[level], output
    assert not re.search(r"FAIL|SUSPECT|\*\*\*", output), output
    if level > 1:
        assert f"{letter.upper()}GEM{'V' if level == 2 else 'M'}" in ours


@pytest.mark.parametrize("letter", "sdcz")
def test_level_3_with_larger_sizes(letter, tmp_path, monkeypatch):
    """Sizes beyond the blocks of the recursions, which the testers' own do not reach."""
    monkeypatch.chdir(tmp_path)
    text = open(f"{folder_of('blas')}/{letter}blat3.in", encoding="ascii").read()
    sizes = "1 2 17 33 64"
    text = re.sub(r"^\d+( +NUMBER OF VALUES OF N)", rf"{len(sizes.split())}\1", text, flags=re.M)
    text = re.sub(r"^[\d ]+( +VALUES OF N)$", rf"{sizes}\1", text, flags=re.M)
    output, ours = run_tester(f"xblat3{letter}", text, str(tmp_path))
    assert output.count("PASSED THE COMPUTATIONAL TESTS") == (9 if letter in "cz" else 6), output
    assert not re.search(r"FAIL|SUSPECT|\*\*\*", output), output
    assert "m=64" in ours and "m=33" in ours
