# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/pictures, drawn from results/ by matplotlib (Debian's python3-matplotlib)."""

import io

import matplotlib
import matplotlib.pyplot as plt
from results import is_square, load, operations, shape

matplotlib.use("svg")
INK = "#768390"  # text and axes: legible on a white and on a dark page
OURS, RIVALS = "#2f81f7", ["#e8803b", "#8f6bd6", "#3fa45b"]
plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "exactile",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.titlecolor": INK,
        "legend.frameon": False,
        "grid.color": INK,
        "grid.alpha": 0.25,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
    }
)


def as_svg(figure):
    text = io.StringIO()
    figure.tight_layout()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def rows_of(name, type_=None):
    return [row for row in load(name)["results"] if type_ in (None, row["type"])]


RATIOS = [
    ("one Zen 5 core, f32", "zen5-cpu", "f32"),
    ("one Zen 5 core, f64", "zen5-cpu", "f64"),
    ("16 cores of a Xeon, f32 and f64", "xeon-cpu-threads", None),
    ("H200, f32", "h200-cuda-f32", "f32"),
    ("H200, f64", "h200-cuda-f64", "f64"),
    ("H200, bf16", "h200-cuda-native", "bf16"),
    ("H200, f16", "h200-cuda-native", "f16"),
    ("H200, i8", "h200-cuda-native", "i8->i32"),
    ("H200, f8", "h200-cuda-native", "f8e4m3->bf16"),
    ("H200, host to host, f32", "h200-host-to-host", "f32"),
    ("H200, OpenCL, f32 and f64", "h200-opencl", None),
]


def ratios():
    """Each product of the results as a dot: our speed over that of the fastest rival."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    for place, (_, name, type_) in enumerate(RATIOS):
        values = [row["ratio"] for row in rows_of(name, type_) if "ratio" in row]
        squares = [row["ratio"] for row in rows_of(name, type_) if "ratio" in row and is_square(row)]
        axes.plot(values, [place] * len(values), "o", color=OURS, alpha=0.35, markersize=5, markeredgewidth=0)
        axes.plot(squares, [place] * len(squares), "|", color=OURS, markersize=11)
    axes.axvline(1, color=RIVALS[0], linewidth=1)
    axes.set_xscale("log", base=2)
    ticks = [0.5, 1, 2, 4, 8]
    axes.set_xticks(ticks, [f"{tick:g} x" for tick in ticks])
    axes.set_yticks(range(len(RATIOS)), [label for label, _, _ in RATIOS])
    axes.invert_yaxis()
    axes.grid(axis="x")
    axes.set_xlabel("speed over the fastest rival; a dot is a product, a bar a square one")
    return as_svg(figure)


PANELS = [
    ("one Zen 5 core, f32", "zen5-cpu", "f32"),
    ("one Zen 5 core, f64", "zen5-cpu", "f64"),
    ("H200, f32", "h200-cuda-f32", "f32"),
    ("H200, f64", "h200-cuda-f64", "f64"),
    ("H200, bf16", "h200-cuda-native", "bf16"),
    ("H200, OpenCL, f32", "h200-opencl", "f32"),
]


def curves(rows):
    """(contender, sizes, GFLOP/s) of squares with rows of whole 16 bytes.

    Where only the ratio of the best rival is known, that rival."""
    squares = sorted(
        (row for row in rows if is_square(row) and row["m"] % 8 == 0 and "gflops" in row), key=lambda row: row["m"]
    )
    names = list(dict.fromkeys(name for row in squares for name in row["gflops"]))
    for name in names:
        yield name, *zip(*[(row["m"], row["gflops"][name]) for row in squares if name in row["gflops"]])
    if names == ["exactile"]:
        yield "best rival", *zip(*[(row["m"], row["gflops"]["exactile"] / row["ratio"]) for row in squares])


def sizes():
    """Speed of squares against their size, for us and each rival of the run."""
    figure, panels = plt.subplots(2, 3, figsize=(9, 5.2))
    for axes, (title, name, type_) in zip(panels.flat, PANELS):
        unit, scale = ("TFLOP/s", 1e3) if "H200" in title else ("GFLOP/s", 1)
        for place, (contender, m, gflops) in enumerate(curves(rows_of(name, type_))):
            axes.plot(
                m,
                [value / scale for value in gflops],
                marker="o",
                markersize=3,
                label=contender,
                color=OURS if contender == "exactile" else RIVALS[(place - 1) % 3],
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_ylabel(unit)
        axes.grid()
        axes.legend(fontsize=7, loc="upper left" if "H200" in title else "lower right")
    for axes in panels[1]:
        axes.set_xlabel("m = n = k")
    return as_svg(figure)


def shapes():
    """Ratio to the fastest rival over shapes: how much work, and how much of it an element of memory serves."""
    figure, panels = plt.subplots(1, 4, figsize=(10, 2.9), sharey=True)
    for axes, (title, name, type_) in zip(panels, [RATIOS[0], RATIOS[3], RATIOS[4], RATIOS[5]]):
        rows = [row for row in rows_of(name, type_) if "ratio" in row and "batch" not in row]
        elements = [row["m"] * row["k"] + row["k"] * row["n"] + row["m"] * row["n"] for row in rows]
        dots = axes.scatter(
            [operations(row) for row in rows],
            [operations(row) / size for row, size in zip(rows, elements)],
            c=[row["ratio"] for row in rows],
            norm=matplotlib.colors.LogNorm(0.5, 2),
            cmap="RdYlBu",
            s=45,
            edgecolors=INK,
            linewidths=0.5,
        )
        axes.set(xscale="log", yscale="log", title=title, xlabel="operations")
        axes.grid()
    panels[0].set_ylabel("operations an element")
    bar = figure.colorbar(dots, ax=panels, ticks=[0.5, 1, 2], extend="both", pad=0.01)
    bar.ax.set_yticklabels(["0.5 x", "1 x", "2 x"])
    bar.ax.minorticks_off()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def errors():
    """f32 on the H200: error against time, us and cuBLAS joined for each product."""
    figure, axes = plt.subplots(figsize=(7, 3.8))
    rows = [row for row in rows_of("h200-cuda-f32") if "norm_error" in row]
    for row in rows:
        seconds = {name: operations(row) / (row["gflops"][name] * 1e9) for name in ("exactile", "cuBLAS")}
        axes.plot(
            [seconds["cuBLAS"], seconds["exactile"]],
            [row["norm_error"][name] for name in ("cuBLAS", "exactile")],
            color=INK,
            linewidth=0.6,
            alpha=0.6,
        )
        for name, colour in (("cuBLAS", RIVALS[0]), ("exactile", OURS)):
            axes.plot(
                seconds[name],
                row["norm_error"][name],
                "o",
                color=colour,
                markersize=5,
                label=name if row is rows[0] else None,
            )
        if is_square(row):
            axes.annotate(
                shape(row),
                (seconds["cuBLAS"], row["norm_error"]["cuBLAS"]),
                fontsize=7,
                xytext=(4, 3),
                textcoords="offset points",
            )
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="error, Frobenius norm over that of C")
    axes.grid()
    axes.legend()
    return as_svg(figure)


def ladder():
    """The kernels of both ladders as bars."""
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4))
    for axes, name in zip(panels, ("zen5-cpu-ladder", "h200-cuda-ladder")):
        data = load(name)
        first = data["results"][0]
        rows = sorted(
            (row for row in data["results"] if row["m"] == first["m"]), key=lambda row: -row["gflops"]["exactile"]
        )
        speeds = [row["gflops"]["exactile"] for row in rows]
        axes.barh([row["kernel"] for row in rows], speeds, color=OURS, height=0.7)
        for place, row in enumerate(rows):
            axes.annotate(
                f"{100 * row['fraction_of_peak']:.0f} %",
                (speeds[place], place),
                fontsize=7,
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_xscale("log")
        axes.set_xlim(min(speeds) / 2, max(speeds) * 2)
        axes.set_title(f"{data['device']['name']}, f32 {shape(first)}")
        axes.set_xlabel("GFLOP/s; share of the peak")
        axes.grid(axis="x")
    return as_svg(figure)


def pictures():
    return [(draw.__name__, draw()) for draw in (ratios, sizes, shapes, errors, ladder)]
