# SPDX-License-Identifier: Apache-2.0
"""Reads the files of results/ (schema: results/schema.json)."""

import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results"
SCHEMA = FOLDER / "schema.json"


# What pages and pictures show, and the file that has it. A new device's files take the places of the old ones here.
ROLES = {
    "cpu": "xeon-cpu",
    "threads": "xeon-cpu-threads",
    "cpu_ladder": "xeon-cpu-ladder",
    "gpu_ladder": "h200-cuda-ladder",
    "gpu_f32": "h100-cuda-square",
    "gpu_f64": "h100-cuda-square",
    "gpu_narrow": "h100-cuda-narrow",
    "gpu_tensor": "h200-cuda-tensor",
    "gpu_errors": "h200-cuda-f32-errors",
    "gpu_choice": "h200-cuda-choice",
    "host": "h100-host-to-host",
    "opencl": "h100-opencl",
}


def path(name):
    """The file of this role, or of this name."""
    return FOLDER / f"{ROLES.get(name, name)}.json"


def files():
    return sorted(file for file in FOLDER.glob("*.json") if file != SCHEMA)


def load(name):
    return json.loads(path(name).read_text(encoding="utf-8"))


def find(rows, **wanted):
    """The one row that has these values."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if len(found) != 1:
        raise LookupError(f"{len(found)} results are {wanted}: expected one")
    return found[0]


def device(data):
    """Its name without what is behind a bracket, marks and a last "Processor"."""
    return data["device"]["name"].replace("(R)", "").split(" (")[0].removesuffix(" Processor")


def as_standard(rows):
    """Those of accuracy `standard`, and of a type that has none of these all."""
    standard = {row["type"] for row in rows if row.get("accuracy", "standard") == "standard"}
    return [row for row in rows if row["type"] not in standard or row.get("accuracy", "standard") == "standard"]


def is_square(row):
    return row["m"] == row["n"] == row["k"] and row.get("batch", 1) == 1


def shape(row):
    """4096^3, 8 x 28672 x 4096, or 1024 of 128^3."""
    m, n, k = row["m"], row["n"], row["k"]
    text = f"{m}^3" if m == n == k else f"{m} x {n} x {k}"
    return f"{row['batch']} of {text}" if "batch" in row else text


def operations(row):
    return 2.0 * row["m"] * row["n"] * row["k"] * row.get("batch", 1)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
