#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package on a CUDA device: torch's float32 with exactile.torch.enabled() and without, cuBLAS's modes beside the
library's accuracies, error against time, and what a call with tensors adds to the C++ call."""
import contextlib
import ctypes
import statistics
import subprocess
import time

import torch
from common import Call, arguments, exactile, in_turns, row_of, write

import exactile.torch

# cublasComputeType_t, https://docs.nvidia.com/cuda/cublas/#cublascomputetype-t
CUBLAS_MODES = {"cuBLAS f32": 68, "cuBLAS tf32": 77, "cuBLAS bf16": 75, "cuBLAS f16": 74, "cuBLAS bf16x9": 78}
CUDA_R_32F = 0


class CuBlas:
    """cublasGemmEx of torch's own cuBLAS, on row-major f32 matrices and torch's current stream."""

    def __init__(self):
        torch.mm(*(torch.ones(8, 8, device="cuda") for _ in "ab"))  # loads it
        path = next(line.split()[-1] for line in open("/proc/self/maps") if "libcublas.so" in line)
        self._library = ctypes.CDLL(path)
        self._handle = ctypes.c_void_p(torch.cuda.current_blas_handle())

    def mm(self, a, b, c, mode):
        (m, k), n = a.shape, b.shape[1]
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        pointer = ctypes.c_void_p
        # Row-major a @ b is column-major b.T @ a.T.
        return self._library.cublasGemmEx(
            self._handle, 0, 0, n, m, k, ctypes.byref(one), pointer(b.data_ptr()), CUDA_R_32F, n, pointer(a.data_ptr()),
            CUDA_R_32F, k, ctypes.byref(zero), pointer(c.data_ptr()), CUDA_R_32F, n, mode, -1)


def timed(function, warm_seconds):
    """A contender: the device's seconds of one call, after the function itself has settled the device's clock."""
    def sample():
        start = time.perf_counter()
        calls = 0
        while time.perf_counter() - start < warm_seconds or calls == 0:
            function()
            calls += 1
            torch.cuda.synchronize()
        calls = max(1, calls // 4)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / calls

    return sample


@contextlib.contextmanager
def tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def norm_error(c, exact):
    return float(f"{(torch.linalg.norm(c.double() - exact) / torch.linalg.norm(exact)).item():.3g}")


def torchs_float32(size, options):
    """torch.mm as a program calls it, inside enabled() and without."""
    torch.manual_seed(size)
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    exact = a.double() @ b.double()

    def ours():
        with exactile.torch.enabled():
            return torch.mm(a, b)

    rows = sample_rows = slice(0, min(size, 256))
    bound = torch.as_tensor(exactile.error_bound(a[sample_rows], b), device="cuda")
    if not ((ours()[rows].double() - exact[rows]).abs() <= bound).all():
        raise RuntimeError("a product is outside its bound: nothing is timed")
    times = in_turns({"exactile": timed(ours, options.warm), "torch": timed(lambda: torch.mm(a, b), options.warm)},
                     options.rounds)
    errors = {"exactile": norm_error(ours(), exact), "torch": norm_error(torch.mm(a, b), exact)}
    return {**row_of(times, "torch", type="f32", m=size, n=size, k=size), "norm_error": errors}


def modes(size, options):
    """Each accuracy of ours and each mode of cuBLAS on one product: a row for each accuracy that is promised."""
    torch.manual_seed(size + 1)
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    c = torch.empty_like(a)
    exact = a.double() @ b.double()
    cublas = CuBlas()
    contenders = {}
    for name, mode in CUBLAS_MODES.items():
        if cublas.mm(a, b, c, mode) == 0:  # others are refused on devices that lack them
            contenders[name] = lambda mode=mode: cublas.mm(a, b, c, mode)
    for accuracy in ("standard", "reduced", "compensated", "correctly_rounded"):
        def product(accuracy=accuracy):
            exactile.matmul(a, b, out=c, accuracy=accuracy, backend="cuda")

        try:
            product()
        except NotImplementedError:
            continue
        contenders[f"exactile {accuracy}"] = product
    errors = {}
    for name, function in contenders.items():
        c.fill_(float("nan"))
        function()
        errors[name] = norm_error(c, exact)
    times = in_turns({name: timed(function, options.warm) for name, function in contenders.items()},
                     max(3, options.rounds // 2))
    work = 2e-9 * size**3
    gflops = {name: float(f"{work / statistics.median(seconds):.4g}") for name, seconds in times.items()}
    return {"type": "f32", "m": size, "n": size, "k": size, "rounds": max(3, options.rounds // 2),
            "accuracy": "as the contender's name says", "gflops": {"exactile": gflops["exactile standard"], **gflops},
            "norm_error": {"exactile": errors["exactile standard"], **errors}}


def overhead(call, size=64, calls=200, rounds=41):
    """Microseconds of the host for a product of CUDA tensors, and how many of them are not the C++ call's. The device
    is idle before each sample, and few enough calls wait in its queue that none of them waits for it."""
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    c = torch.empty_like(a)
    out = {"matmul": lambda: exactile.matmul(a, b), "matmul_out": lambda: exactile.matmul(a, b, out=c),
           "mm": lambda: exactile.torch.mm(a, b), "torch_mm": lambda: torch.mm(a, b), "nothing": lambda: None}

    def hosts(function):
        def sample():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            return (time.perf_counter() - start) / calls

        return sample

    def direct():
        torch.cuda.synchronize()
        return call.seconds("float32", (size,) * 3, [x.data_ptr() for x in (a, b, c)], calls=calls, device=0,
                            stream=torch.cuda.current_stream().cuda_stream) / calls

    times = in_turns({**{name: hosts(function) for name, function in out.items()}, "call": direct}, rounds)
    best = {name: 1e6 * statistics.median(seconds) for name, seconds in times.items()}
    nothing = best.pop("nothing")
    answer = {f"{name}_us": round(value - (0 if name == "call" else nothing), 3) for name, value in best.items()}
    return {"size": size, **answer, "overhead_us": round(answer["matmul_us"] - answer["call_us"], 3)}


def driver():
    return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                          text=True, check=True).stdout.split()[0]


def main():
    options = arguments(__doc__, rounds=7, warm=0.15)
    rows = [torchs_float32(size, options) for size in (1024, 2048, 4096, 8192)]
    rows += [modes(size, options) for size in (1024, 4096, 8192)]
    write(options.output, family="Python, torch's f32 on a GPU",
          device={"name": torch.cuda.get_device_name().removeprefix("NVIDIA "), "kind": "gpu"},
          software={"driver": driver(), "CUDA": str(torch.version.cuda), "torch": torch.__version__},
          operands="normal, row-major, in device memory", results=rows,
          contenders={"torch": f"{torch.__version__}, float32 without tf32",
                      "cuBLAS f32": "cublasGemmEx of torch's cuBLAS, by compute type"},
          summary={"tensors": overhead(Call())})


if __name__ == "__main__":
    main()
