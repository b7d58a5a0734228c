#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a run of exactile.choice/1 (results/schema.json) of what exactile_regret printed and kept, or of what
`exactile_cuda_rows regret SEED SECONDS PRODUCTS.jsonl` kept.

    tools/pages/choices.py REGRET.json ROWS.jsonl BESIDE.json >RUN.json
    tools/pages/choices.py SEED SECONDS PRODUCTS.jsonl BESIDE.json >RUN.json

BESIDE.json is a run of `exactile bench` by the same build on the same device: it says device, software, commit and date.
tools/pages/keep.py keeps RUN.json.
"""

import itertools
import json
import math
import pathlib
import sys

FAMILY = "CUDA, the choice of kernel and configuration"
OPTIONS = {"seed": "seed", "m": "m", "n": "n", "k": "k", "most_terms": "most-terms", "planning": "planning"}


def named(kernel):
    return f"{kernel['kernel']} {kernel['parameters']}".strip()


def choice(kernels):
    """The row of one product, both times from the second timing; where nothing beat the choice, that is the fastest."""
    again = [kernel for kernel in kernels if "again" in kernel]
    chosen = next(kernel for kernel in again if kernel["chosen"])
    fastest = min(again, key=lambda kernel: kernel["again"])
    return {
        **{name: chosen[name] for name in ("type", "m", "n", "k")},
        **{name: "t" if chosen[f"{name}_transposed"] else "n" for name in "ab"},
        "choice": named(chosen),
        "choice_us": round(1e6 * chosen["again"], 3),
        "fastest": named(fastest),
        "fastest_us": round(1e6 * fastest["again"], 3),
    }


def summary(results):
    """Of exactile_cuda_rows, whose ratios are 1 where the choice was the faster one."""
    ratios = {}
    for row in results:
        ratios.setdefault(row["type"], []).append(max(1.0, row["choice_us"] / row["fastest_us"]))
    return {name: {"products": len(of), "mean": round(math.exp(sum(map(math.log, of)) / len(of)), 4),
                   "worst": round(max(of), 4), "share_above_1.1": round(sum(x > 1.1 for x in of) / len(of), 4)}
            for name, of in ratios.items()}


def run_of(beside, family, operands, command, seed, totals, results):
    return {
        "schema": "exactile.choice/1",
        "family": family,
        "what": "time of the planner's choice over that of the fastest of all configurations, both timed again after "
                "all were, on random products that nothing was fitted to",
        **{name: beside[name] for name in ("device", "software")},
        "contenders": {"exactile": beside["contenders"]["exactile"]},
        **{name: beside[name] for name in ("commit", "date", "provenance")},
        "operands": operands,
        "command": command,
        "seed": seed,
        "summary": totals,
        "results": results,
    }


def of_regret(regret, rows, beside):
    kernels = [json.loads(line) for line in rows.splitlines()[1:]]
    products = [list(of) for _, of in itertools.groupby(kernels, lambda kernel: (kernel["type"], kernel["product"]))]
    options = " ".join(f"--{option} {regret[name]}" for name, option in OPTIONS.items())
    types = ",".join(one["type"] for one in regret["types"])
    totals = {one["type"]: {name: round(value, 4) for name, value in one.items()
                            if name in ("products", "mean", "worst", "share_above_1.1")} for one in regret["types"]}
    return run_of(beside, FAMILY, "normal, rotating through more than the L2 cache, in device memory",
                  f"exactile_regret --backend {regret['backend']} --device-memory --configurations --types {types} "
                  f"{options}", regret["seed"], totals, [choice(of) for of in products])


def of_cuda_rows(seed, seconds, products, beside):
    results = [json.loads(line) for line in products.splitlines()]
    totals = summary(results)
    return run_of(beside, f"{FAMILY}: {', '.join(totals)}", "normal, rotating through more than the L2 cache, in device "
                  "memory; what L2 holds is used twice in a row", f"exactile_cuda_rows regret {seed} {seconds} "
                  "PRODUCTS.jsonl", int(seed), totals, results)


def main():
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    *first, rows, beside = sys.argv[1:]
    rows = pathlib.Path(rows).read_text(encoding="utf-8")
    beside = json.loads(pathlib.Path(beside).read_text(encoding="utf-8"))
    if len(first) == 1:
        run = of_regret(json.loads(pathlib.Path(first[0]).read_text(encoding="utf-8")), rows, beside)
    else:
        run = of_cuda_rows(*first, rows, beside)
    print(json.dumps(run, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
