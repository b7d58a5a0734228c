#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `exactile ladder ... --json` measured as bars, one a kernel: docs/ladder.svg.

    build/release/bin/exactile ladder 1000 1000 1000 --json > ladder.json
    tools/plot_ladder.py ladder.json > docs/ladder.svg

Writes the SVG itself, so it needs nothing but Python. The length of a bar is logarithmic, and the axis says so.
"""

import json
import math
import sys
from html import escape

LABEL, PLOT, NUMBERS, ROW, TOP = 250, 420, 210, 26, 64
WIDTH = LABEL + PLOT + NUMBERS
# Readable on a light and on a dark page.
STYLE = """text{font:13px sans-serif;fill:#24292f}.title{font-weight:bold;font-size:15px}.small{font-size:11px;fill:#57606a}
.bar{fill:#2f6fb5}.base{fill:#8c959f}.grid{stroke:#d0d7de}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.bar{fill:#5ba0e8}.grid{stroke:#3d444d}}"""


def text(x, y, content, css="", anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" class="{css}" text-anchor="{anchor}">{escape(content)}</text>'


def position(gflops, low, high):
    """Where on the logarithmic axis a speed lies."""
    return LABEL + PLOT * (math.log10(gflops) - low) / (high - low)


def axis(low, high, bottom):
    for exponent in range(low, high + 1):
        x = position(10.0**exponent, low, high)
        yield f'<line x1="{x:g}" y1="{TOP - 8}" x2="{x:g}" y2="{bottom}" class="grid"/>'
        yield text(x, bottom + 16, f"{10.0**exponent:g}", "small", "middle")
    yield text(LABEL + PLOT / 2, bottom + 32, "GFLOP/s, logarithmic", "small", "middle")


def bar(row, y, low, high):
    length = position(row["gflops"], low, high) - LABEL
    css = "base" if row["kernel"] == "cpu_naive" else "bar"
    yield text(LABEL - 8, y + 17, row["kernel"], anchor="end")
    yield f'<rect x="{LABEL}" y="{y + 4}" width="{length:.1f}" height="{ROW - 8}" class="{css}"/>'
    numbers = f"{row['gflops']:.3g} GFLOP/s, {row['speedup']:.3g} x"
    if row.get("fraction_of_peak"):
        numbers += f", {100 * row['fraction_of_peak']:.0f} % of peak"
    yield text(LABEL + length + 6, y + 17, numbers, "small")


def draw(report):
    rows = [row for row in report["results"] if row.get("gflops")]
    first = rows[0]
    low = math.floor(math.log10(min(row["gflops"] for row in rows) * 0.9))
    high = math.ceil(math.log10(max(row["gflops"] for row in rows)))
    bottom = TOP + ROW * len(rows) + 4
    device = report["device"]
    device = device if isinstance(device, str) else device.get("name", "")
    title = f"C[{first['m']} x {first['n']}] = A[{first['m']} x {first['k']}] * B, {first['type']}"
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" width="{WIDTH}" role="img" '
           f'aria-label="{escape(title)}: speed of each kernel">')
    yield f"<style>{STYLE}</style>"
    yield text(12, 24, title, "title")
    yield text(12, 42, f"{device}; speed-up over cpu_naive; share of the measured multiply-add peak", "small")
    yield from axis(low, high, bottom)
    for index, row in enumerate(rows):
        yield from bar(row, TOP + ROW * index, low, high)
    yield "</svg>"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    print("\n".join(draw(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
