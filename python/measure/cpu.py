#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package on one processor core: f32 against `a @ b` of NumPy's wheel, and what it adds to the C++ call."""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
os.environ["EXACTILE_BACKEND"] = "cpu"  # where there is a GPU, too

import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import threadpoolctl  # noqa: E402
from common import Call, SHORT, arguments, check, exactile, in_turns, row_of, timed, version_of_system, write  # noqa: E402

SIZES = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096]
random = np.random.default_rng(0)


def against_numpy(size, seconds):
    a, b = (random.standard_normal((size, size), dtype=np.float32) for _ in "ab")
    check(exactile.matmul(a, b, threads=1), a.astype(float) @ b.astype(float), exactile.error_bound(a, b))
    once = timed(lambda: a @ b, 3)()
    calls = max(1, int(2e-3 / once))
    contenders = {"exactile": timed(lambda: exactile.matmul(a, b, threads=1), calls),
                  "NumPy": timed(lambda: a @ b, calls)}
    times = in_turns(contenders, min(301, max(5, int(seconds / (2 * calls * once)))))
    return row_of(times, "NumPy", type="f32", m=size, n=size, k=size)


def against_call(call, dtype, seconds, size=1024):
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        a, b = (random.integers(-2**30, 2**30, (size, size)).astype(dtype) for _ in "ab")
    else:
        a, b = (random.standard_normal((size, size)).astype(dtype) for _ in "ab")
    c = np.empty_like(a)
    pointers = [x.ctypes.data for x in (a, b, c)]

    def direct():
        start = time.thread_time()
        call.seconds(dtype.name, (size,) * 3, pointers, threads=1)
        return time.thread_time() - start

    once = direct()
    if not np.array_equal(c, exactile.matmul(a, b, threads=1)):
        raise RuntimeError(f"{dtype}: the C++ call and the package differ")
    times = in_turns({"exactile": timed(lambda: exactile.matmul(a, b, threads=1), 1), "C++ call": direct},
                     max(25, int(seconds / (2 * once))))
    return row_of(times, "C++ call", type=SHORT[dtype.name], m=size, n=size, k=size)


def overhead(call, calls=2000, rounds=41):
    """Microseconds of matmul() of 8 x 8 arrays, and how many of them are not the C++ call's."""
    a, b = (random.standard_normal((8, 8)) for _ in "ab")
    c = np.empty_like(a)
    pointers = [x.ctypes.data for x in (a, b, c)]
    matmul = exactile.matmul
    times = in_turns({"exactile": timed(lambda: matmul(a, b), calls), "nothing": timed(lambda: None, calls),
                      "call": lambda: call.seconds("float64", (8, 8, 8), pointers, calls=calls) / calls}, rounds)
    ours, nothing, direct = (1e6 * min(times[name]) for name in ("exactile", "nothing", "call"))
    return {"matmul_us": round(ours - nothing, 3), "call_us": round(direct, 3),
            "overhead_us": round(ours - nothing - direct, 3)}


def import_milliseconds():
    """What `import exactile` adds to `import numpy`."""
    code = ("import time, numpy\nstart = time.perf_counter()\nimport exactile\n"
            "print(1e3 * (time.perf_counter() - start))")
    return round(statistics.median(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                                        check=True).stdout) for _ in range(9)), 2)


def main():
    options = arguments(__doc__, device="a processor", seconds=8.0, largest=4096)
    call = Call()
    rows = [against_numpy(size, options.seconds) for size in SIZES if size <= options.largest]
    rows += [against_call(call, dtype, options.seconds) for dtype in ("i4", "i8", ml_dtypes.bfloat16)]
    blas = next(one for one in threadpoolctl.threadpool_info() if one["internal_api"] == "openblas")
    write(options.output, family="Python, one core", device={"name": options.device, "kind": "cpu", "threads": 1},
          software={"system": version_of_system()}, operands="normal, integers of 30 bits; row-major",
          contenders={"NumPy": f"{np.__version__}, OpenBLAS {blas['version']} ({blas['architecture']})",
                      "C++ call": "exactile::gemm with the memory for C at hand"},
          summary={"numpy_8x8": overhead(call), "import_ms": import_milliseconds()}, results=rows)


if __name__ == "__main__":
    main()
