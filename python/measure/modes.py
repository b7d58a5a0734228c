#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error against time: each accuracy of the library and each mode of cuBLAS on f32 products in a CUDA device's memory."""
import ctypes
import statistics

import torch
from common import arguments, exactile, in_turns, write
from device import device, norm_error, software, timed

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


def contenders(a, b, c):
    """{name: a function that leaves a @ b in c}, of those that this device has."""
    cublas = CuBlas()
    found = {name: lambda mode=mode: cublas.mm(a, b, c, mode) for name, mode in CUBLAS_MODES.items()
             if cublas.mm(a, b, c, mode) == 0}
    for accuracy in ("standard", "reduced", "compensated", "correctly_rounded"):
        def product(accuracy=accuracy):
            exactile.matmul(a, b, out=c, accuracy=accuracy)

        try:
            product()
        except NotImplementedError:
            continue
        found["exactile" if accuracy == "standard" else f"exactile {accuracy}"] = product
    return found


def measured(size, options):
    torch.manual_seed(size)
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    c = torch.empty_like(a)
    exact = a.double() @ b.double()
    functions, errors = contenders(a, b, c), {}
    for name, function in functions.items():
        c.fill_(float("nan"))
        function()
        errors[name] = norm_error(c, exact)
    seconds = in_turns({name: timed(function, options.warm) for name, function in functions.items()}, options.rounds)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {"type": "f32", "m": size, "n": size, "k": size, "rounds": options.rounds,
            "gflops": {name: float(f"{2e-9 * size**3 / median:.4g}") for name, median in medians.items()},
            "seconds": {name: float(f"{median:.4g}") for name, median in medians.items()}, "norm_error": errors}


def main():
    options = arguments(__doc__, rounds=5, warm=0.1)
    rows = [measured(size, options) for size in (1024, 4096, 8192)]
    others = [name for name in rows[-1]["gflops"] if name != "exactile"]
    kinds = {name: f"accuracy {name.split()[1]}" if name.startswith("exactile") else
             f"cublasGemmEx, compute type {CUBLAS_MODES[name]}" for name in others}
    write(options.output, family="f32 on a GPU, by what is promised", device=device(), software=software(),
          operands="normal, row-major, in device memory", contenders=kinds, results=rows)


if __name__ == "__main__":
    main()
