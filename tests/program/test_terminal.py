# SPDX-License-Identifier: Apache-2.0
"""Colour and progress belong to terminals; stdout carries results only."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

import numpy as np
import pytest
from conftest import PROGRAM

LADDER = ["ladder", "64", "64", "64"]


def on_a_terminal(arguments, stream, environment=None, columns=0):
    """What the program writes to a terminal that is its stdout or stderr; the other one goes nowhere."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    base = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen([PROGRAM, *arguments], **streams, env={**base, "TERM": "xterm", **(environment or {})})
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return text.decode()


def test_colour_on_a_terminal_only(program):
    assert "\x1b[1m" in on_a_terminal(LADDER, "stdout")
    assert "\x1b" not in program(*LADDER).stdout


def test_no_color(program):
    assert "\x1b" not in on_a_terminal(LADDER, "stdout", {"NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(LADDER, "stdout", {"TERM": "dumb"})


def test_bars_where_the_terminal_is_wide_enough(program):
    """They stand for speed, so the last row's, the fastest one's, is full; the columns of traffic give way first."""
    ladder = [*LADDER, "--backend", "cpu"]
    utf8, ascii = {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}
    wide = on_a_terminal(ladder, "stdout", utf8, columns=250)
    fastest = [line for line in wide.splitlines() if "\u2588" in line][-1]
    assert "\x1b[32m" + "\u2588" * 16 + "\x1b[0m" in fastest and "x min" in wide
    middle = on_a_terminal(ladder, "stdout", utf8, columns=115)
    assert "\u2588" in middle and "x min" not in middle
    assert max(len(line) for line in middle.replace("\x1b[", "").splitlines() if "\u2588" in line) <= 115 + len("32m0m")
    assert "\u2588" not in on_a_terminal(ladder, "stdout", utf8, columns=60)
    assert "#" * 16 in on_a_terminal(ladder, "stdout", ascii, columns=250)
    plain = on_a_terminal(ladder, "stdout", {**utf8, "NO_COLOR": "1"}, columns=250)
    assert "\u2588" * 16 in plain and "\x1b" not in plain
    assert "\u2588" not in program(*ladder).stdout


def test_progress_on_a_terminal_only(program):
    shown = on_a_terminal(LADDER, "stderr")
    assert "cpu_naive" in shown and "\r\x1b[K" in shown
    assert "\r" not in program(*LADDER).stderr


def test_json_is_all_there_is_on_stdout(program):
    program.json(*LADDER)
    assert "\x1b" not in on_a_terminal([*LADDER, "--json"], "stdout")


def test_a_full_stdout_is_trouble(program):
    with open("/dev/full", "w", encoding="ascii") as full:
        for arguments in (["kernels"], ["--help"], ["--version"], ["bench", "--help"]):
            done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 4 and "standard output" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_results_stay_out_of_files_where_a_stream_is_closed(program, closed):
    """A file that is opened gets the lowest free number, and that is the closed stream's."""
    np.save(program.folder / "a.npy", np.eye(20, dtype="f4"))
    done = subprocess.run(f"'{PROGRAM}' multiply a.npy a.npy -o c.npy {closed}", shell=True, cwd=program.folder)
    assert done.returncode == (4 if ">&- " in closed + " " and not closed.startswith("2") else 0)
    assert (np.load(program.folder / "c.npy") == np.eye(20)).all()


def test_long_work_says_what_it_will_cost(program):
    process = program.start("bench", "--m", 8, "--n", 8, "--k", 8, "--seconds", "600", "--rotate", "off")
    assert "exactile: this benchmark will take about" in process.stderr.readline()
    process.kill()
    process.communicate()
    short = program("bench", "--m", 8, "--n", 8, "--k", 8, "--kernel", "portable_blocked", "--rotate", "off")
    assert "will take about" not in short.stderr
