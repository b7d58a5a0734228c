# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and its kin in the middle of a long product; a file that shrinks while it is read."""
import os
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
    while not temporary_files(program) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert len(temporary_files(program)) == 1
    time.sleep(0.5)
    yield process
    process.kill()
    process.communicate()


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
