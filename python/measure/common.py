# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: contenders that take turns, the C++ call, and files as results/ has them."""
import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import exactile

ROOT = Path(__file__).resolve().parents[2]
TYPES = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int8",
         "complex128", "complex64"]  # in the order of exactile::ElementType
SHORT = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "int64": "i64", "int32": "i32"}


def arguments(description, **more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--output", default="-", help="the file that is written; - is standard output")
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default, type=type(default))
    return parser.parse_args()


def commit():
    """The commit that is measured: of the checkout, or where there is none what EXACTILE_COMMIT says."""
    known = os.environ.get("EXACTILE_COMMIT")
    return known or subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                                   check=True).stdout.strip()


def write(path, *, schema="exactile.results/1", contenders, software, **fields):
    """Writes a file of results/: what each run must say beside `fields`."""
    data = {"schema": schema, **fields,
            "software": {"python": platform.python_version(), **software},
            "contenders": {"exactile": commit(), **contenders}, "commit": commit(),
            "date": datetime.date.today().isoformat(), "command": "python python/measure/" + Path(sys.argv[0]).name,
            "provenance": {"kind": "measured"}}
    rows = ",\n".join("  " + json.dumps(row) for row in data.pop("results"))
    head = json.dumps(data, indent=1)[:-2]
    text = f'{head},\n "results": [\n{rows}\n ]\n}}\n'
    if path == "-":
        print(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


def in_turns(contenders, rounds):
    """{name: seconds of each round}; a contender is a function that runs once and answers its seconds. Every other
    round goes in the opposite order."""
    seconds = {name: [] for name in contenders}
    for i in range(rounds):
        for name in list(contenders)[::-1 if i % 2 else 1]:
            seconds[name].append(contenders[name]())
    return seconds


def timed(function, calls):
    """A contender: the processor's time of this thread for one call, of so many."""
    def sample():
        start = time.thread_time()
        for _ in range(calls):
            function()
        return (time.thread_time() - start) / calls

    return sample


def row_of(seconds, rival, **product):
    """A row of results/: medians, and the median of the paired ratios to the rival."""
    work = 2e-9 * product["m"] * product["n"] * product["k"]
    ratio = statistics.median(theirs / ours for ours, theirs in zip(seconds["exactile"], seconds[rival]))
    return {**product, "rounds": len(seconds["exactile"]),
            "gflops": {name: float(f"{work / statistics.median(times):.4g}") for name, times in seconds.items()},
            "ratio": round(ratio, 3), "rival": rival}


class Call:
    """The C++ call (call.cpp), of the library in build/release or of what EXACTILE_CALL names."""

    def __init__(self):
        path = os.environ.get("EXACTILE_CALL")
        if path is None:
            path = ROOT / "build" / "python" / "libcall.so"
            path.parent.mkdir(parents=True, exist_ok=True)
            here = Path(__file__).parent
            subprocess.run(["c++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", here / "call.cpp",
                            ROOT / "build/release/src/libexactile.a", "-pthread", "-ldl", "-o", path], check=True)
        self._function = ctypes.CDLL(str(path)).seconds_of_calls
        self._function.restype = ctypes.c_double
        sizes, pointers = [ctypes.c_int64] * 3, [ctypes.c_void_p] * 3
        self._function.argtypes = [ctypes.c_int, ctypes.c_int, *sizes, *pointers, ctypes.c_int, ctypes.c_void_p,
                                   ctypes.c_int, ctypes.c_int]

    def seconds(self, dtype, shape, pointers, *, calls=1, threads=0, device=-1, stream=None):
        """Of so many calls with row-major matrices of the NumPy type of that name; shape is (m, n, k)."""
        code = TYPES.index(dtype)
        seconds = self._function(code, code, *shape, *pointers, device, stream, threads, calls)
        if seconds < 0:
            raise RuntimeError(f"the C++ call refused {dtype} {shape}")
        return seconds


def version_of_system():
    return " ".join(platform.libc_ver())


def check(ours, exact, bound):
    """Raises where an element errs by more than its bound."""
    if not (abs(ours - exact) <= bound).all():
        raise RuntimeError("a product is outside its bound: nothing is timed")


__all__ = ["Call", "SHORT", "arguments", "check", "commit", "exactile", "in_turns", "row_of", "timed",
           "version_of_system", "write"]
