#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package on one processor core beside torch and NumPy, as their users call them: products with a vector, in each
layout of the matrix, and squares of integers."""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
os.environ["EXACTILE_BACKEND"] = "cpu"

import statistics  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from common import arguments, exactile, in_turns, row_of, timed, version_of_system, write  # noqa: E402

SIZES = [256, 512, 1000, 1024, 2048, 4000, 4096, 8192]
TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8}


def race(contenders, seconds, **product):
    """A row of results/, beside the fastest of the others."""
    once = timed(next(iter(contenders.values())), 3)()
    calls = max(1, int(1e-3 / once))
    turns = {name: timed(function, calls) for name, function in contenders.items()}
    times = in_turns(turns, min(101, max(7, int(seconds / (len(turns) * calls * once)))))
    rival = min((name for name in times if name != "exactile"), key=lambda name: statistics.median(times[name]))
    return row_of(times, rival, **product)


def operand(dtype, rows, columns):
    if dtype.is_floating_point:
        return torch.randn(rows, columns).to(dtype)
    return torch.randint(-100, 100, (rows, columns), dtype=dtype)


def vectors(name, size, seconds):
    """A x, A^T x, x^T W and x^T W^T."""
    dtype = TYPES[name]
    matrix, column, row = operand(dtype, size, size), operand(dtype, size, 1), operand(dtype, 1, size)
    turned = matrix.T
    for layout, a, b in (("", matrix, column), ("A^T", turned, column), ("", row, matrix), ("B^T", row, turned)):
        c = torch.empty(a.shape[0], b.shape[1], dtype=torch.int32 if name == "i8" else dtype)
        theirs = torch._int_mm if name == "i8" else torch.mm
        contenders = {"exactile": lambda: exactile.matmul(a, b, out=c, threads=1), "torch": lambda: theirs(a, b, out=c)}
        wide = torch.int64 if name == "i8" else torch.float64
        exact = a.to(wide) @ b.to(wide)
        error = (contenders["exactile"]().to(wide) - exact).double().norm() / exact.double().norm()
        if not error <= {"f64": 1e-14, "f32": 1e-5, "i8": 0}.get(name, 1e-2):
            raise RuntimeError(f"{name} {tuple(a.shape)} {layout}: an error of {error}, nothing is timed")
        yield race(contenders, seconds, type=name, m=a.shape[0], n=b.shape[1], k=size, layout=layout or "row-major")


def integers(name, size, seconds):
    """Beside NumPy and torch, modulo 2^32 or 2^64."""
    dtype = {"i32": np.int32, "i64": np.int64}[name]
    a, b = (np.random.default_rng(size).integers(-2**30, 2**30, (size, size)).astype(dtype) for _ in "ab")
    ours = lambda: exactile.matmul(a, b, threads=1)  # noqa: E731
    their_a, their_b = torch.from_numpy(a), torch.from_numpy(b)
    if not np.array_equal(ours(), torch.mm(their_a, their_b).numpy()):
        raise RuntimeError(f"{name} {size}: not torch's product, nothing is timed")
    contenders = {"exactile": ours, "NumPy": lambda: a @ b, "torch": lambda: torch.mm(their_a, their_b)}
    return race(contenders, seconds, type=name, m=size, n=size, k=size, layout="row-major")


def main():
    options = arguments(__doc__, device="a processor", seconds=0.4, largest=8192)
    torch.set_num_threads(1)
    sizes = [size for size in SIZES if size <= options.largest]
    rows = [row for name in TYPES for size in sizes for row in vectors(name, size, options.seconds)]
    rows += [integers(name, size, options.seconds) for name in ("i32", "i64") for size in (512, 1024)]
    write(options.output, family="Python beside torch, one core",
          device={"name": options.device, "kind": "cpu", "threads": 1}, software={"system": version_of_system()},
          operands="normal, integers of 7 and 30 bits; row-major, ^T column-major",
          contenders={"torch": torch.__version__, "NumPy": np.__version__}, results=rows)


if __name__ == "__main__":
    main()
