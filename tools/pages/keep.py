#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps runs that the project stands by in a file of results/, in place of the runs of the same families there.

    tools/pages/keep.py results/DEVICE-FAMILY.json RUN.json...

RUN.json is what `exactile bench --suite FILE -o`, the programs of bench/ and the scripts of python/measure/ write.
tools/pages/generate.py then makes the pages and pictures anew.
"""

import json
import pathlib
import re
import sys


def without_folders(command):
    """Where the one who measured kept the file says nothing about the run."""
    return re.sub(r"(?<= -o )\S*/", "", command)


def as_text(release, runs):
    """A line for each field of a run, and for each of its results."""
    texts = []
    for run in runs:
        fields = [f'   "{name}": {json.dumps(value)}' for name, value in run.items() if name != "results"]
        rows = ",\n".join("    " + json.dumps(row, separators=(",", ":")) for row in run["results"])
        texts.append("  {\n" + ",\n".join(fields) + f',\n   "results": [\n{rows}\n   ]\n  }}')
    head = f' "schema": "exactile.runs/1",\n "release": {json.dumps(release)},\n'
    return "{\n" + head + ' "runs": [\n' + ",\n".join(texts) + "\n ]\n}\n"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def release():
    project = (pathlib.Path(__file__).parents[2] / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(exactile VERSION ([\d.]+)", project)[1]


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    file, *sources = map(pathlib.Path, sys.argv[1:])
    kept = {run["family"]: run for run in read(file)["runs"]} if file.exists() else {}
    for source in sources:
        run = read(source)
        kept[run["family"]] = {**run, "command": without_folders(run["command"])}
    file.write_text(as_text(release(), kept.values()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
