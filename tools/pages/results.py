# SPDX-License-Identifier: Apache-2.0
"""Reads the files of results/ (schema: results/schema.json), each with the runs of one device and family."""

import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results"
SCHEMA = FOLDER / "schema.json"

# The runs that pages and pictures show: file and family of each. A new device's runs take the places of old ones here.
ROLES = {
    "cpu": ("xeon-cpu", "CPU, one thread"),
    "cpu_mkl": ("xeon-cpu", "CPU, one thread, beside MKL and BLIS"),
    "threads": ("xeon-cpu", "CPU, many threads"),
    "cpu_ladder": ("xeon-ladder", "The ladder on a CPU"),
    "gpu_ladder": ("h200-ladder", "The ladder on a GPU"),
    "gpu_tensor": ("h200-ladder", "Tensor cores, step by step"),
    "gpu_square": ("h100-cuda", "Squares in device memory"),
    "gpu_narrow": ("h100-cuda", "Squares of narrow types in device memory"),
    "gpu_errors": ("h200-accuracy", "Errors on normal, uniform, wide and cancelling operands"),
    "gpu_accuracy": ("h100-accuracy", "CUDA, accuracies"),
    "gpu_choice": ("h100-choice", "CUDA, the choice of kernel and configuration: bf16, f16, f32, f64, i8->i32"),
    "host": ("h100-host", "Operands in host memory, product on a GPU"),
    "opencl": ("h100-opencl", "Squares through OpenCL"),
    "modes": ("h100-python", "f32 on a GPU, by what is promised"),
    "training": ("h100-python", "Python, a transformer trained in f32"),
}


def files():
    return sorted(file for file in FOLDER.glob("*.json") if file != SCHEMA)


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def runs():
    """(file, run) of all."""
    return [(file, run) for file in files() for run in read(file)["runs"]]


def path(role):
    return FOLDER / f"{ROLES[role][0]}.json"


def load(role):
    return find(read(path(role))["runs"], family=ROLES[role][1])


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
