# SPDX-License-Identifier: Apache-2.0
"""Results that look measured, for the tests of the report: exactile.results/1 as Python has it."""
import json
import random

CUBES = [64, 128, 256, 512, 1024, 2048]


def product(draw, m, n, k, base, peak, rivals):
    ours = base * min(1, ((m * n * k) ** (1 / 3) / 600) ** 0.8) * draw.uniform(0.9, 1.05)
    gflops = {"exactile": ours} | {rival: ours / draw.uniform(0.8, 1.7) for rival in rivals}
    fastest = max(rivals, key=gflops.get)
    return {"type": "f32", "m": m, "n": n, "k": k, "kernel": "avx512_f32_fma_12x32", "gflops": gflops,
            "ratio": ours / gflops[fastest], "rival": fastest, "fraction_of_peak": ours / peak,
            "spread": {name: 0.012 for name in gflops},
            "norm_error": {name: draw.uniform(1, 6) * 1e-8 * k ** 0.5 for name in gflops}}


def document(device="AMD Zen 4", extra=10, seed=1, rivals=("openblas", "blis", "onednn"), peak=150):
    draw = random.Random(seed)
    sides = [1, 8, 35, 128, 512, 2000, 4096]
    shapes = [(edge, edge, edge) for edge in CUBES]
    shapes += [tuple(draw.choice(sides) for _ in range(3)) for _ in range(extra)]
    results = [product(draw, *shape, 0.9 * peak, peak, rivals) for shape in shapes]
    results += [{"type": "f32", "m": 1000, "n": 1000, "k": 1000, "kernel": kernel, "gflops": {"exactile": speed}}
                for kernel, speed in [("cpu_naive", 2.1), ("portable_blocked", 20.0), ("avx2_f32_fma_6x16", 80.0)]]
    return {"schema": "exactile.results/1", "family": "drawn by lot", "device": {"name": device, "kind": "cpu", "threads": 1},
            "software": {"compiler": "GCC 12.2"}, "contenders": {"exactile": "0.1.0"} | {name: "1" for name in rivals},
            "commit": "0123456", "date": "2026-01-31", "operands": "normal, row-major", "command": "exactile bench --suite x",
            "ceilings": {"gflops": {"f32": peak}, "gbytes_per_second": 20}, "provenance": {"kind": "measured"},
            "results": results}


def save(path, what):
    path.write_text(json.dumps(what))
    return path.name
