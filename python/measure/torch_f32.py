#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch's float32 products inside exactile.torch.enabled() and without, and what a call with CUDA tensors adds to the
C++ call."""
import statistics
import time

import torch
from common import Call, arguments, exactile, in_turns, row_of, write
from device import device, norm_error, software, timed

import exactile.torch


def against_torch(size, options):
    """torch.mm as a program calls it, inside enabled() and without."""
    torch.manual_seed(size)
    a, b = (torch.randn(size, size, device="cuda") for _ in "ab")
    exact = a.double() @ b.double()

    def ours():
        with exactile.torch.enabled():
            return torch.mm(a, b)

    rows = slice(0, min(size, 256))
    bound = torch.as_tensor(exactile.error_bound(a[rows], b), device="cuda")
    if not ((ours()[rows].double() - exact[rows]).abs() <= bound).all():
        raise RuntimeError("a product is outside its bound: nothing is timed")
    contenders = {"exactile": timed(ours, options.warm), "torch": timed(lambda: torch.mm(a, b), options.warm)}
    times = in_turns(contenders, options.rounds)
    errors = {"exactile": norm_error(ours(), exact), "torch": norm_error(torch.mm(a, b), exact)}
    return {**row_of(times, "torch", type="f32", m=size, n=size, k=size), "norm_error": errors}


def overhead(call, size=64, calls=200, rounds=41):
    """Microseconds of the host for a product of CUDA tensors, and how many of them are not the C++ call's: of calls one
    behind the other in C++, and of the same calls with a Python program between them, whose code takes the caches. The
    device is idle before each sample, and few enough calls wait in its queue that none of them waits for it."""
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

    stream = torch.cuda.current_stream().cuda_stream
    pointers = [x.data_ptr() for x in (a, b, c)]

    def in_cpp():
        torch.cuda.synchronize()
        return call.seconds("float32", (size,) * 3, pointers, calls=calls, device=0, stream=stream) / calls

    def between():
        torch.cuda.synchronize()
        seconds = 0
        for _ in range(calls // 2):
            exactile.matmul(a, b)
            seconds += call.seconds("float32", (size,) * 3, pointers, device=0, stream=stream)
        return seconds / (calls // 2)

    times = in_turns({**{name: hosts(function) for name, function in out.items()}, "call": in_cpp,
                      "call_between": between}, rounds)
    best = {name: 1e6 * statistics.median(seconds) for name, seconds in times.items()}
    nothing = best.pop("nothing")
    answer = {f"{name}_us": round(value - (0 if "call" in name else nothing), 3) for name, value in best.items()}
    return {"size": size, **answer, "overhead_us": round(answer["matmul_us"] - answer["call_us"], 3),
            "overhead_between_us": round(answer["matmul_us"] - answer["call_between_us"], 3)}


def main():
    options = arguments(__doc__, rounds=7, warm=0.15)
    rows = [against_torch(size, options) for size in (1024, 2048, 4096, 8192)]
    write(options.output, family="Python, torch's f32 on a GPU", device=device(), software=software(),
          operands="normal, row-major, in device memory", contenders={"torch": "torch.mm, float32 without tf32"},
          summary={"tensors": overhead(Call())}, results=rows)


if __name__ == "__main__":
    main()
