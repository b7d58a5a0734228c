# SPDX-License-Identifier: Apache-2.0
"""The package in a process: its import, threads, and what it keeps."""
import gc
import os
import resource
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support import check, operand

import exactile


def python(code, **environment):
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_does_without_numpy():
    assert python("import sys; sys.modules['numpy'] = None; import exactile; print(exactile.devices()[0]['backend'])"
                  ) == "cpu\n"
    assert python("import sys, exactile; print('numpy' in sys.modules)") == "False\n"


def test_arrays_without_numpy_say_so():
    code = ("import sys; sys.modules['numpy'] = None; import exactile\n"
            "try: exactile.matmul([[1]], [[1]])\nexcept ImportError as e: print('numpy' in str(e))")
    assert python(code) == "True\n"


def test_broken_driver(tmp_path):
    """A libcuda.so.1 that is no library keeps nobody from multiplying."""
    (tmp_path / "libcuda.so.1").write_text("no library")
    (tmp_path / "libOpenCL.so.1").write_text("no library")
    code = ("import numpy as np, exactile\n"
            "print(exactile.matmul(np.eye(2), np.eye(2))[0, 0], [d['reason'] for d in exactile.devices() "
            "if d['backend'] == 'cuda' and not d['available']] != [''])")
    assert python(code, LD_LIBRARY_PATH=str(tmp_path)) == "1.0 True\n"


def test_import_opens_no_driver():
    code = ("import exactile; maps = open('/proc/self/maps').read()\n"
            "print('libcuda' in maps, 'libOpenCL' in maps)")
    assert python(code) == "False False\n"


def test_many_threads(random):
    operands = [(operand(random, (50 + i, 70), np.float32), operand(random, (70, 40), np.float32)) for i in range(8)]
    failures = []

    def multiply(a, b):
        try:
            for _ in range(200):
                check(a, b, exactile.matmul(a, b))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=multiply, args=pair) for pair in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released(random):
    a = operand(random, (1200, 1200), np.float64)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (exactile.matmul(a, a), done.set()))
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
        time.sleep(0)
    thread.join()
    assert steps > 10


def test_bits_do_not_depend_on_threads(random):
    a = operand(random, (300, 400), np.float32)
    one = exactile.matmul(a, a.T, threads=1)
    assert exactile.matmul(a, a.T, threads=2).tobytes() == one.tobytes()


def test_thread_limit():
    default = exactile.get_threads()
    exactile.set_threads(1)
    try:
        assert exactile.get_threads() == 1
    finally:
        exactile.set_threads(None)
    assert exactile.get_threads() == default
    with pytest.raises(ValueError, match="count = -1"):
        exactile.set_threads(-1)


def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Exporter:
    """An array of a library of its own, which has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [lambda array: array, Exporter], ids=["numpy", "dlpack"])
def test_nothing_is_kept(random, wrap):
    a, b = wrap(operand(random, (8, 64), np.float32)), wrap(operand(random, (64, 8), np.float32))

    def calls(count):
        for _ in range(count):
            exactile.matmul(a, b)
            try:
                exactile.matmul(a, a)
            except ValueError:
                pass
        gc.collect()

    calls(2000)
    before = resident()
    calls(50_000)  # of two products each
    # An object of each call, 32 bytes at least, would be 3.2 MB.
    assert resident() - before < 300_000


def large_result(rows=3000):
    """36 MB, of a few operations each: element (i, j) is i * j."""
    numbers = np.arange(rows, dtype=np.float32)
    return exactile.matmul(numbers[:, None], numbers[None])


def is_large_result(c):
    rows = len(c)
    return all(np.array_equal(c[i], np.float32(i) * np.arange(rows, dtype=np.float32)) for i in (0, 1, rows - 1))


def test_memory_of_large_results():
    before = resident()
    kept = [large_result() for _ in range(4)]
    assert len({c.ctypes.data for c in kept}) == 4
    places = {c.ctypes.data for c in kept}
    kept.clear()
    assert resident() - before < 1.5 * 36_000_000  # one of them stays with the process
    c = large_result()
    assert c.ctypes.data in places and c.flags.owndata and is_large_result(c)
    del c

    def faults():  # of pages that a product finds missing: all of its result's, unless they are kept
        start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        large_result()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start

    assert min(faults() for _ in range(5)) < 10
    c = large_result()
    assert large_result(3500).ctypes.data != c.ctypes.data and is_large_result(large_result(3500))


def test_large_results_are_resized():
    for rows in (5000, 2999, 10):
        c = large_result()
        c.resize((rows, 3000), refcheck=False)
        assert np.array_equal(c[:10], large_result()[:10]) and not c[3000:].any()
        del c
        assert is_large_result(large_result())


def test_large_results_of_threads():
    def make():
        assert all(is_large_result(large_result(rows)) for rows in (3000, 3200, 3000, 3200, 3000))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(make) for _ in range(8)]:
            done.result()
