# SPDX-License-Identifier: Apache-2.0
"""What README and the pages for users show: programs compile, run and print what stands below them, commands succeed.

The environment says where the build is: EXACTILE_BUILD, and EXACTILE_LINK, what a C++ program is linked with.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["EXACTILE_BUILD"])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n*prints\n\n```text\n(.*?)^```)?", flags=re.S | re.M)
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
exactile::MatrixView a_view(a, 2, 3), b_view(b, 3, 2), c_view(c, 2, 2);
exactile::GemmDescription description{.m = 2, .n = 2, .k = 3, .a = {.row_stride = 3}, .b = {.row_stride = 2},
                                      .c = {.row_stride = 2}};
"""


def blocks(page, *languages):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [match for match in BLOCK.findall(text) if match[0] in languages]


def programs():
    return [(page, *block) for page in WHOLE for block in blocks(page, "cpp", "c")]


def commands():
    found = [(page, line[2:]) for page in WHOLE for _, text, _ in blocks(page, "console") for line in text.splitlines()]
    return list(dict.fromkeys(found))


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    "page,language,source,output", programs(), ids=[f"{page}:{language}" for page, language, *_ in programs()]
)
def test_program(page, language, source, output, tmp_path):
    file = tmp_path / f"program.{language}"
    file.write_text(source, encoding="utf-8")
    warnings = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", str(file), "-o", "program"]
    if language == "cpp":
        run(["c++", "-std=c++20", *warnings, *shlex.split(os.environ["EXACTILE_LINK"])], tmp_path)
    else:
        folder = BUILD / "src" / "c_api"
        run(["cc", "-std=c99", *warnings, f"-L{folder}", "-lexactile", f"-Wl,-rpath,{folder}"], tmp_path)
    assert output, f"{page} does not say what the program prints"
    assert run(["./program"], tmp_path) == output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Looks like a built checkout; shared, as a command may use files that the one before has made."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(BUILD)
    return folder


@pytest.mark.parametrize("page,command", commands())
def test_command(page, command, folder):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(BUILD / "bin"), os.environ["PATH"]])
    run(["bash", "-c", command], folder, env={**os.environ, "PATH": path})


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
    header, source = [text for _, text, _ in blocks("docs/add-a-kernel.md", "cpp")]
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "by_rows.hpp").write_text(header, encoding="utf-8")
    (tmp_path / "cpu" / "by_rows.cpp").write_text(source, encoding="utf-8")
    folders = [f"-I{tmp_path}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *folders, "cpu/by_rows.cpp"], tmp_path)


def test_there_is_something_to_test():
    assert len(programs()) >= 3 and len(commands()) >= 8
