# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and its kin in the middle of a long product; a file that shrinks while it is read."""
import os
import pathlib
import resource
import signal
import time

import numpy as np
import pytest

SLOW = 3000  # the plain loop needs many seconds for its cube


@pytest.fixture
def ignored():
    """Signals that are ignored when the program is started."""
    return ()


@pytest.fixture
def running(program, ignored):
    """A multiplication that has made its temporary file and will not end soon."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    np.save(program.folder / "a.npy", np.ones((SLOW, SLOW), "f4"))
    process = program.start("multiply", "a.npy", "a.npy", "-o", "c.npy", "--kernel", "cpu_naive", "--threads", "1",
                            preexec_fn=prepare)
    deadline = time.monotonic() + 60
    while not has_output(program, process) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert has_output(program, process)
    time.sleep(0.5)
    yield process
    process.kill()
    process.communicate()


def has_output(program, process):
    """Its output, which has no name yet, or a temporary one where the file system has no files without names."""
    targets = [target_of(file) for file in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()]
    return any(str(program.folder) in target and target.endswith("(deleted)") for target in targets) or \
        temporary_files(program)


def target_of(descriptor):
    """Nothing where the program has closed it meanwhile."""
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:
        return ""


def temporary_files(program):
    return list(program.folder.glob(".c.npy.tmp-*"))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGUSR1", "SIGPROF"])
def test_interrupted(program, running, name):
    """It ends by the signal, so that a shell ends the loop it runs in; there $? is 128 + the signal's number."""
    running.send_signal(getattr(signal, name))
    out, err = running.communicate(timeout=30)
    assert running.returncode == -getattr(signal, name)
    assert out == "" and "interrupted" in err
    assert [path.name for path in program.folder.iterdir()] == ["a.npy"]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGPIPE", "SIGSEGV"])
def test_killed(program, running, name):
    """No handler runs, and nothing is left all the same."""
    try:
        os.close(os.open(program.folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        pytest.skip("this file system has no files without names")
    running.send_signal(getattr(signal, name))
    running.communicate(timeout=30)
    assert running.returncode == -getattr(signal, name)
    assert [path.name for path in program.folder.iterdir()] == ["a.npy"]


def test_a_long_product_says_what_it_will_take(program, running):
    """Though stderr is no terminal."""
    assert "exactile: this product will take about" in running.stderr.readline()


@pytest.mark.parametrize("ignored", [(signal.SIGHUP, signal.SIGINT)])
def test_ignored_signals_stay_ignored(program, running, ignored):
    """nohup(1), and jobs in the background of a script."""
    for number in ignored:
        running.send_signal(number)
    time.sleep(0.5)
    assert running.poll() is None
    running.terminate()
    running.communicate(timeout=30)
    assert running.returncode == -signal.SIGTERM


def test_a_file_that_shrinks(program, running):
    os.truncate(program.folder / "a.npy", 200)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 3
    assert out == "" and "shrank" in err
    assert not temporary_files(program) and not (program.folder / "c.npy").exists()


def test_interrupted_ladder(program):
    process = program.start("ladder", 3000, 3000, 3000, "--json")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and out == ""
