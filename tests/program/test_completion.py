# SPDX-License-Identifier: Apache-2.0
"""What shells complete, and the manual page: both from the definitions of the options."""
import os
import shutil
import subprocess

import pytest

COMMANDS = ["multiply", "ladder", "bench", "report", "verify", "tune", "explain", "kernels", "devices", "doctor",
            "completion", "manual"]


def completed(program, *words):
    """What bash offers for the last of these words."""
    (program.folder / "exactile.bash").write_text(program("completion", "bash").stdout)
    script = """source ./exactile.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _exactile; printf '%s\\n' "${COMPREPLY[@]}" """
    done = subprocess.run(["bash", "-c", script, "bash", "exactile", *words], cwd=program.folder, capture_output=True,
                          text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash(program):
    assert set(COMMANDS) <= set(completed(program, ""))
    assert completed(program, "mul") == ["multiply"]
    assert completed(program, "bench", "--su") == ["--suite"]
    assert {"--rivals", "--row-scales"} & set(completed(program, "bench", "--r")) == {"--rivals"}
    assert {"f32", "f64"} <= set(completed(program, "bench", "--type", "f"))
    assert completed(program, "explain", "--backend", "op") == ["opencl"]
    assert "portable_blocked" in completed(program, "bench", "--kernel", "port")
    assert completed(program, "bench", "--fill", "wide") == ["wide_range"]
    assert completed(program, "bench", "--m", "") == []
    (program.folder / "a.npy").write_text("")
    assert completed(program, "multiply", "a") == ["a.npy"] and completed(program, "multiply", "x", "-o", "a") == ["a.npy"]
    assert completed(program, "completion", "z") == ["zsh"]


def test_zsh(program):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    (program.folder / "_exactile").write_text(program("completion", "zsh").stdout)
    subprocess.run(["zsh", "-n", "_exactile"], cwd=program.folder, check=True)
    script = "autoload -U compinit; compinit -u -d ./dump; source ./_exactile; print $_comps[exactile]"
    done = subprocess.run(["zsh", "-f", "-c", script], cwd=program.folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "_exactile" and done.stderr == ""


def test_fish(program):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    (program.folder / "exactile.fish").write_text(program("completion", "fish").stdout)

    def offered(line):
        script = f"source exactile.fish; complete --do-complete '{line}'"
        home = {**os.environ, "HOME": str(program.folder), "XDG_CONFIG_HOME": str(program.folder)}
        done = subprocess.run(["fish", "-N", "-c", script], cwd=program.folder, capture_output=True, text=True, check=True,
                              env=home)
        return {one.split("\t")[0] for one in done.stdout.splitlines()}
    assert set(COMMANDS) <= offered("exactile ")
    assert "--suite" in offered("exactile bench --su")
    assert {"f32", "f64"} <= offered("exactile bench --type f")


def test_a_shell_that_is_not_known(program):
    program.refuses("completion", "tcsh", code=2, says="SHELL tcsh: is not known; there are bash, zsh, fish")


def test_the_manual_page(program):
    page = program("manual").stdout
    assert page.startswith(".TH EXACTILE 1")
    for command in COMMANDS:
        assert f'.SH "exactile {command}"' in page
        for line in program(command, "--help").stdout.splitlines():
            if line.startswith("  --"):
                assert "\\fB" + line.split()[0].rstrip(",").replace("-", "\\-") in page, line
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    done = subprocess.run(["man", "--warnings=all", "-l", "-"], input=page, capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "120"})
    assert done.stderr == ""
    assert "exactile bench --suite FILE --rivals auto" in done.stdout or "--suite FILE" in done.stdout
