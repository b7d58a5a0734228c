# SPDX-License-Identifier: Apache-2.0
"""Arrays that are not NumPy's, and the doors by which others find the library."""
import os
import subprocess
import sys
import types

import array_api_strict
import numpy as np
import pytest
import threadpoolctl
from support import check, operand

import exactile
from exactile import numpy_blas


class Exporter:
    """An array of a library of its own, which has DLPack and nothing else."""

    def __init__(self, array, **changes):
        self.array = array
        self.asked = []
        self.changes = changes

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if "max_version" in keywords and self.changes.get("old"):
            raise TypeError("no such argument")
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.changes.get("device", self.array.__dlpack_device__())


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "complex64"])
def test_array_api(random, dtype):
    """A strict array API library: its own arrays come back, of the promoted type."""
    a, b = operand(random, (2, 5, 6), dtype), operand(random, (6, 7), dtype)
    c = exactile.matmul(*(array_api_strict.asarray(x) for x in (a, b)))
    assert type(c) is type(array_api_strict.asarray(a))
    check(a, b, np.from_dlpack(c))
    with pytest.raises(ValueError, match="expected the last axis of a"):
        exactile.matmul(array_api_strict.asarray(b), array_api_strict.asarray(b))


def test_dlpack(random):
    a, b = operand(random, (5, 6), np.float32), operand(random, (6, 7), np.float32)
    check(a, b, exactile.matmul(Exporter(a), b))
    check(a, b, exactile.matmul(a, Exporter(b, old=True)))
    a.flags.writeable = False
    check(a, b, exactile.matmul(Exporter(a), Exporter(b)))
    with pytest.raises(TypeError, match=r"lies on a device \(DLPack's type 8\)"):
        exactile.matmul(Exporter(a, device=(8, 0)), b)


def test_views_take_dlpack_themselves(random):
    view = exactile._exactile.View.of(Exporter(operand(random, (5, 6), np.float32)[::2, ::-1]))
    assert (view.shape, view.strides, view.type) == ((3, 6), (12, -1), "float32")
    assert view.device == -1 and not view.read_only
    old = Exporter(operand(random, (5,), np.int64), old=True)
    assert exactile._exactile.View.of(old).type == "int64"
    assert old.asked == [{"max_version": (1, 1)}, {}]
    frozen = operand(random, (5,), np.int64)
    frozen.flags.writeable = False
    assert exactile._exactile.View.of(Exporter(frozen)).read_only
    with pytest.raises(TypeError, match="DLPack type code"):
        exactile._exactile.View.of(Exporter(np.zeros(3, np.uint16)))


def test_cuda_arrays_without_cupy(random, monkeypatch):
    class CudaArray:
        __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f4", "data": (0, False), "version": 3}

    monkeypatch.setitem(sys.modules, "cupy", None)
    on_device = Exporter(operand(random, (2, 2), np.float32), device=(2, 0))
    for array in (CudaArray(), on_device):
        with pytest.raises(TypeError, match="CuPy is needed"):
            exactile.matmul(array, array)


class HostDevice:
    """Where the stand-in for CuPy keeps its arrays: this process's memory, which a view calls device -1."""

    id = -1
    entered = 0

    def __enter__(self):
        HostDevice.entered += 1

    def __exit__(self, *failure):
        HostDevice.entered -= 1


class HostArray(np.ndarray):
    """What exactile asks of a cupy.ndarray."""

    device = HostDevice()
    __cuda_array_interface__ = {}

    @property
    def data(self):
        assert HostDevice.entered
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0])


@pytest.fixture
def cupy(monkeypatch):
    """A module with CuPy's names for what lies in host memory, as there may be neither CuPy nor a GPU."""
    def wrapped(function):
        return lambda *a, **k: function(*a, **k).view(HostArray)

    stream = types.SimpleNamespace(ptr=0)
    module = types.SimpleNamespace(ndarray=HostArray, asarray=wrapped(np.asarray), array=wrapped(np.array),
                                   from_dlpack=wrapped(lambda x: np.asarray(x.array)),
                                   ascontiguousarray=wrapped(np.ascontiguousarray), empty=wrapped(np.empty),
                                   cuda=types.SimpleNamespace(get_current_stream=lambda: stream))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int16", "complex64"])
def test_cupy(random, cupy, dtype):
    a, b = operand(random, (2, 5, 6), dtype), operand(random, (6, 7), dtype)
    c = exactile.matmul(cupy.asarray(a)[:, ::-1], cupy.asarray(b))
    assert isinstance(c, HostArray)
    check(a[:, ::-1], b, np.asarray(c))
    out = cupy.empty((2, 5, 7), dtype)
    assert exactile.matmul(cupy.asarray(a), cupy.asarray(b), out=out) is out
    check(a, b, np.asarray(out))
    if dtype == "float32":
        wide = cupy.empty((2, 5, 7), "float64")
        exactile.matmul(cupy.asarray(a), cupy.asarray(b), out=wide)
        check(a, b, np.asarray(wide).astype(dtype))
        bias = exactile.matmul(cupy.asarray(a), cupy.asarray(b), bias=cupy.asarray(b[0]), alpha=2)
        np.testing.assert_allclose(bias, 2 * (a @ b) + b[0], rtol=1e-4, atol=1e-4)
        with pytest.raises(TypeError, match="same_kind"):
            exactile.matmul(cupy.asarray(a), cupy.asarray(b), out=cupy.empty((2, 5, 7), "int32"))
        plan = exactile.Plan(cupy.asarray(a), cupy.asarray(b))
        check(a, b, np.asarray(plan(cupy.asarray(a), cupy.asarray(b))))
    assert HostDevice.entered == 0


def test_dlpack_on_a_device(random, cupy):
    """Through CuPy; what comes back is of the caller's library where that can take it."""
    a, b = operand(random, (5, 6), np.float32), operand(random, (6, 7), np.float32)
    on_device = [Exporter(x, device=(2, 0)) for x in (a, b)]
    c = exactile.matmul(*on_device)
    assert isinstance(c, HostArray)
    check(a, b, np.asarray(c))
    namespace = types.SimpleNamespace(from_dlpack=lambda array: ("theirs", array))
    on_device[0].__array_namespace__ = lambda: namespace
    whose, c = exactile.matmul(*on_device)
    assert whose == "theirs"
    check(a, b, np.asarray(c))


def test_threadpoolctl_limits_products():
    import exactile.threadpool  # noqa: F401

    pools = [p for p in threadpoolctl.threadpool_info() if p["internal_api"] == "exactile"]
    assert [(p["user_api"], p["version"]) for p in pools] == [("blas", exactile.__version__)]
    before = exactile.get_threads()
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert exactile.get_threads() == 1
    assert exactile.get_threads() == before


def test_numpy_takes_its_products_from_us(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nimport numpy as np\nimport threadpoolctl\nimport exactile.threadpool\n"
                      "from exactile import numpy_blas\n"
                      "a = np.arange(1e4).reshape(100, 100)\nc = a @ a\n"
                      "print(numpy_blas.is_active(), exactile.verify(a, a, c).passed, *sys.argv[1:])\n"
                      "print([p['version'] for p in threadpoolctl.threadpool_info() "
                      "if p['internal_api'] == 'exactile_blas'])\n")
    done = subprocess.run([sys.executable, "-m", "exactile.numpy_blas", str(script), "argument"], capture_output=True,
                          text=True, timeout=100, env={**os.environ, "EXACTILE_VERBOSE": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"True True argument\n['{exactile.__version__}']\n"
    assert "DGEMM m=100 n=100 k=100" in done.stderr
    assert not numpy_blas.is_active()
    done = subprocess.run([sys.executable, "-m", "exactile.numpy_blas"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and "LD_PRELOAD" in done.stdout
