# SPDX-License-Identifier: Apache-2.0
"""The sentences that pages hold, from results/. A page asks for one by its function's name and arguments."""

import textwrap

from results import as_standard, device, find, load, shape
from tables import best_rival, ratio, rivals_of, speed, title


def steps(name):
    """What each kernel reaches on a ladder's largest product: {kernel: its row}, from a row a kernel or a suite's one."""
    data = load(name)
    size = max(row["m"] for row in data["results"] if "fill" not in row)
    found = {}
    for row in data["results"]:
        if row["m"] != size or "fill" in row:
            continue
        for contender, gflops in row["gflops"].items():
            kernel = row.get("kernel", contender) if contender == "exactile" and len(row["gflops"]) == 1 else contender
            peak = data.get("ceilings", {}).get("gflops", {}).get(row["type"])
            found[kernel.removeprefix("exactile:")] = dict(
                row,
                speed=gflops,
                of_peak=row["fraction_of_peak"] if peak is None else gflops / peak,
                error=row.get("norm_error", {}).get(contender),
            )
    return found


def sentence(text):
    """In lines that fit a page."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def names_of(kernel):
    """The planner's choice by the name of what it chose."""
    return title(kernel) if title(kernel) != kernel else f"`{kernel}`"


def step(name, *kernels):
    """A sentence for a page of the ladder: what its kernels, the last ones, reach, and how that compares with the first."""
    found = steps(name)
    first, *others = kernels if len(kernels) > 1 else (None, *kernels)
    told = []
    for kernel in others:
        one = found[kernel]
        text = f"{names_of(one['kernel'] if kernel == 'exactile' else kernel)} {speed(one['speed'], one['type'])}"
        if first is not None:
            text += f", {ratio(one['speed'] / found[first]['speed'])} {names_of(first)}"
        told.append(f"{text}, {100 * one['of_peak']:.0f} % of the peak")
        before = first is not None and found[first]["error"]
        if before and one["error"] and not 0.5 < one["error"] / before < 2:
            told[-1] += f", error {one['error']:.1e} where it was {before:.1e}"
    row = found[others[0]]
    return sentence(f"Speed, {row['type']} {shape(row)} on {device(load(name))}: {'; '.join(told)}.")


def product(name, type_, *sizes):
    """A sentence for a page of the ladder: what the library reaches on M x N x K, one number for a square."""
    m, n, k = map(int, sizes if len(sizes) == 3 else sizes * 3)
    row = find(as_standard(load(name)["results"]), type=type_, m=m, n=n, k=k)
    reached = speed(row["gflops"]["exactile"], type_)
    return sentence(f"Speed, {type_} {shape(row)} on {device(load(name))}: {reached}, {ratio(row['ratio'])} {best_rival(row)}.")


def costs(name, type_, size):
    """A sentence on what each accuracy takes on a cube, and errs; the rival's too, where its error is known."""
    rows = [row for row in load(name)["results"] if row["type"] == type_ and shape(row) == f"{size}^3"]
    told = []
    for row in rows:
        accuracy = row.get("accuracy", "standard")
        told.append(f"`{accuracy}` {speed(row['gflops']['exactile'], type_)}, {row['norm_error']['exactile']:.1e}")
        rival = next((one for one in rivals_of(row) if not one.startswith("exactile") and one in row["norm_error"]), None)
        if rival and accuracy in ("reduced", "standard"):
            asked = " asked for the same" if accuracy == "reduced" else ""
            told[-1] += f" ({title(rival)}{asked} {speed(row['gflops'][rival], type_)}, {row['norm_error'][rival]:.1e})"
    return sentence(f"Speed and error, {type_} {shape(rows[0])} on {device(load(name))}: {'; '.join(told)}.")
