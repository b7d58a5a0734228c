# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays and others' on a CUDA device; run where CuPy is installed and there is a device."""
import numpy as np
import pytest
from support import check, operand

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"CuPy finds no CUDA device: {error}", allow_module_level=True)

import exactile  # noqa: E402


class Exporter:
    """An array of a library of its own, which has DLPack and nothing else."""

    def __init__(self, array):
        self.array = array
        self.streams = []

    def __dlpack__(self, *, stream=None, **keywords):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, **keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Interface:
    """An array with __cuda_array_interface__ and nothing else."""

    def __init__(self, array):
        self._keeper = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "uint8", "complex64"])
def test_product(random, dtype):
    a, b = operand(random, (2, 50, 60), dtype), operand(random, (60, 70), dtype)
    on_device = cupy.asarray(a), cupy.asarray(b)
    c = exactile.matmul(*on_device)
    assert isinstance(c, cupy.ndarray) and c.device == on_device[0].device
    check(a, b, c.get())
    check(a[:, ::-1], b[:, ::2], exactile.matmul(on_device[0][:, ::-1], on_device[1][:, ::2]).get())
    check(a[0, 0], b[:, 0], exactile.matmul(on_device[0][0, 0], on_device[1][:, 0]).get())
    out = cupy.empty((2, 50, 70), dtype)
    assert exactile.matmul(*on_device, out=out) is out
    check(a, b, out.get())


def test_what_follows_a_product(random):
    a, b, bias = (operand(random, shape, np.float32) for shape in ((50, 60), (60, 70), (70,)))
    on_device = [cupy.asarray(x) for x in (a, b)]
    c = exactile.matmul(*on_device, alpha=2, bias=cupy.asarray(bias), activation="relu")
    np.testing.assert_allclose(c.get(), np.maximum(2 * (a @ b) + bias, 0), rtol=1e-4, atol=1e-4)
    assert exactile.verify(*on_device, exactile.matmul(*on_device))
    assert exactile.error_bound(*on_device).shape == (50, 70)
    with pytest.raises(ValueError, match="shares memory"):
        exactile.matmul(on_device[0][:, :50], on_device[0][:, 10:], out=on_device[0][:, :50])


def test_plan_and_weights(random):
    a, b = operand(random, (50, 60), np.float32), operand(random, (60, 70), np.float32)
    on_device = [cupy.asarray(x) for x in (a, b)]
    plan = exactile.Plan(*on_device)
    assert plan.explain().data["backend"] == "cuda"
    check(a, b, plan(*on_device).get())
    check(a, b, (on_device[0] @ exactile.prepare(on_device[1], rows=50)).get())


def test_current_stream(random):
    """A product waits for what CuPy enqueued before it on its current stream, and for nothing else."""
    a, b = operand(random, (2000, 2000), np.float32), operand(random, (2000, 2000), np.float32)
    on_device = [cupy.asarray(x) for x in (a, b)]
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(20):  # keeps the stream busy, so that a product elsewhere would read what is not there yet
            late = on_device[0] @ on_device[1]
        late = on_device[0] * 2
        c = exactile.matmul(late, on_device[1])
        stream.synchronize()
    check(2 * a[:50], b, c.get()[:50])  # in a wider type, which takes long


@pytest.mark.parametrize("wrap", [Exporter, Interface])
def test_other_libraries(random, wrap):
    a, b = operand(random, (50, 60), np.float32), operand(random, (60, 70), np.float32)
    theirs = [wrap(cupy.asarray(x)) for x in (a, b)]
    c = exactile.matmul(*theirs)
    assert isinstance(c, cupy.ndarray)
    check(a, b, c.get())
    if wrap is Exporter:
        assert theirs[0].streams and None not in theirs[0].streams


def test_nothing_is_kept(random):
    a, b = (cupy.asarray(operand(random, (500, 500), np.float32)) for _ in "ab")
    exactile.matmul(a, b)
    used = cupy.get_default_memory_pool().used_bytes()
    for _ in range(1000):
        exactile.matmul(a, b)
    assert cupy.get_default_memory_pool().used_bytes() == used
