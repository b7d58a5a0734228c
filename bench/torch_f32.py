# SPDX-License-Identifier: Apache-2.0
"""Times torch's f32 products with and without libexactile_cublas.so before cuBLAS, in processes that take turns.

    python3 bench/torch_f32.py build/release/lib/libexactile_cublas.so

GPU time of `torch.mm`, of `linear` with a bias and of `bmm`, medians over all processes of a kind, and their ratio;
above 1 the library is faster. Behind them what a call costs the host, where cuBLAS does the product in any case, and
the first call of a size.
"""
import json
import os
import statistics
import subprocess
import sys

SIZES = ((8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (768, 768, 768),
         (512, 512, 512), (256, 256, 256), (64, 64, 64), (8192, 28672, 4096), (4097, 4095, 4099), (512, 4096, 14336),
         (257, 1024, 4096), (64, 4096, 4096), (8, 28672, 4096), (1, 4096, 4096), (4096, 128, 4096), (128, 128, 65536),
         (4096, 4096, 64), (2048, 8192, 1), (300, 300, 300), (33, 5000, 777))


def measure():
    import time

    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(work, patience=0.06):
        """Of one call, of so many in a row that the device is never without one."""
        for _ in range(2):
            work()
        torch.cuda.synchronize()
        calls, times = 3, []
        for _ in range(4):
            begin.record()
            for _ in range(calls):
                work()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3 / calls)
            calls = max(3, min(1000, int(patience / 4 / times[-1])))
        return statistics.median(times[1:])

    out = {}
    for m, n, k in SIZES:
        a, b, w, bias = (torch.randn(*shape, device="cuda") for shape in ((m, k), (k, n), (n, k), (n,)))
        c = torch.empty(m, n, device="cuda")
        out[f"mm {m}x{n}x{k}"] = seconds(lambda: torch.mm(a, b, out=c))
        if min(m, n, k) > 1 and m * n * k > 1e8:
            out[f"mm nt {m}x{n}x{k}"] = seconds(lambda: torch.mm(a, w.t(), out=c))
            out[f"linear {m}x{n}x{k}"] = seconds(lambda: torch.nn.functional.linear(a, w, bias))
    for count, n in ((1024, 128), (64, 512), (16, 1024)):
        a, b = torch.randn(count, n, n, device="cuda"), torch.randn(count, n, n, device="cuda")
        out[f"bmm {count} of {n}"] = seconds(lambda: torch.bmm(a, b))
    a = torch.randn(32, 32, device="cuda")
    c = torch.empty_like(a)
    for _ in range(2):
        start = time.perf_counter()
        for _ in range(5000):
            torch.mm(a, a, out=c)
        out["host, a call of 32^3"] = (time.perf_counter() - start) / 5000
        torch.cuda.synchronize()
    start = time.perf_counter()
    for size in range(1200, 1220):
        a = torch.empty(size, size, device="cuda")
        torch.mm(a, a)
    torch.cuda.synchronize()
    out["host, a first call"] = (time.perf_counter() - start) / 20
    print(json.dumps(out))


def main(library, rounds):
    """Plain and ours take turns, and begin in turns."""
    times = {"": [], library: []}
    for turn in range(rounds):
        for preload in ("", library) if turn % 2 == 0 else (library, ""):
            environment = {**os.environ, "LD_PRELOAD": preload}
            done = subprocess.run([sys.executable, __file__], env=environment, stdout=subprocess.PIPE, check=True)
            times[preload].append(json.loads(done.stdout))
    print(f"{'product':28} {'plain us':>10} {'ours us':>10} {'ratio':>6}")
    for name in times[""][0]:
        plain, ours = (statistics.median(run[name] for run in times[kind]) * 1e6 for kind in ("", library))
        print(f"{name:28} {plain:10.2f} {ours:10.2f} {plain / ours:6.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    else:
        measure()
