# SPDX-License-Identifier: Apache-2.0
"""What README and the pages for users show: their commands succeed and print what stands below them, on the files
that they show (a first line `// NAME` names one). EXACTILE_BUILD in the environment is the folder of the build.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["EXACTILE_BUILD"])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.S | re.M)
TOOLKIT = pathlib.Path("/usr/local/cuda/include")
WHOLE = ["README.md", "docs/getting-started.md"]

# What the pieces of the guide take for granted.
PREAMBLE = """
#include <iostream>
#include "exactile/exactile.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include "exactile/interop/cuda.hpp"
#endif
float a[6], b[6], c[4], bias[2];
std::int64_t offsets[2];
exactile::MatrixView a_view(a, 2, 3), b_view(b, 3, 2), c_view(c, 2, 2);
exactile::GemmDescription description{.m = 2, .n = 2, .k = 3, .a = {.row_stride = 3}, .b = {.row_stride = 2},
                                      .c = {.row_stride = 2}};
"""


def blocks(page, *languages):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [match for match in BLOCK.findall(text) if match[0] in languages]


def commands():
    """(page, command, what it prints or nothing) of all console blocks, in order."""
    found = []
    for page in WHOLE:
        for _, text in blocks(page, "console"):
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, output = re.split(r"(?<!\\)\n", part, maxsplit=1)
                found.append((page, command, output))
    return found


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=WHOLE)
def checkout(request, tmp_path_factory):
    """Looks like a built checkout with the page's files in it; shared, as a command may use what the one before made."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(BUILD)
    for name in ("include", "examples"):
        (folder / name).symlink_to(ROOT / name)
    for _, text in blocks(request.param, "cpp", "c"):
        (folder / re.match(r"(?://|/\*) ([\w.]+)", text)[1]).write_text(text, encoding="utf-8")
    return request.param, folder


def test_commands(checkout):
    page, folder = checkout
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(BUILD / "bin"), os.environ["PATH"]])
    for _, command, output in (one for one in commands() if one[0] == page):
        printed = run(["bash", "-c", command], folder, env={**os.environ, "PATH": path})
        assert not output or printed == output, command


@pytest.mark.parametrize("number", range(len(blocks("docs/guide.md", "cpp"))))
def test_piece_of_the_guide_compiles(number, tmp_path):
    piece = blocks("docs/guide.md", "cpp")[number][1]
    if "stream" in piece and not TOOLKIT.exists():
        pytest.skip("needs the CUDA toolkit's headers")
    plan = "" if " plan =" in piece else "auto plan = exactile::Plan::make(description);\n"
    stream = "cudaStream_t stream = nullptr;\n" if "stream" in piece else ""
    source = f"{PREAMBLE}exactile::Status piece() {{\n{plan}{stream}{piece}return status;\n}}\n"
    (tmp_path / "piece.cpp").write_text(source, encoding="utf-8")
    run(["c++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", f"-I{TOOLKIT}", "piece.cpp"], tmp_path)


def test_kernel_of_add_a_kernel_compiles(tmp_path):
    """Where the page says to copy it."""
    shutil.copytree(ROOT / "examples" / "kernel", tmp_path / "cpu")
    folders = [f"-I{tmp_path}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *folders, "cpu/by_rows.cpp"], tmp_path)


def test_there_is_something_to_test():
    assert len(commands()) >= 8 and sum(bool(output) for *_, output in commands()) >= 3
