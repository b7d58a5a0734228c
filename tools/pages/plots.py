# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/pictures, drawn from results/ by matplotlib (Debian's python3-matplotlib)."""

import io

import matplotlib
import matplotlib.pyplot as plt
from results import as_standard, device, is_square, load, operations, shape
from sentences import steps
from tables import title

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
    return [row for row in as_standard(load(name)["results"]) if type_ in (None, row["type"])]


def label(place, name, type_):
    types = type_.partition("->")[0] if type_ else "f32 and f64"
    return ", ".join(part for part in (device(load(name)), place, types) if part)


RATIOS = [
    ("one core", "cpu", "f32"),
    ("one core", "cpu", "f64"),
    ("many cores", "threads", None),
    ("", "gpu_square", "f32"),
    ("", "gpu_square", "f64"),
    ("", "gpu_narrow", "bf16"),
    ("", "gpu_narrow", "f16"),
    ("", "gpu_narrow", "i8->i32"),
    ("", "gpu_narrow", "f8e4m3->bf16"),
    ("host to host", "host", "f32"),
    ("OpenCL", "opencl", None),
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
    axes.set_yticks(range(len(RATIOS)), [label(*one) for one in RATIOS])
    axes.invert_yaxis()
    axes.grid(axis="x")
    axes.set_xlabel("speed over the fastest rival; a dot is a product, a bar a square one")
    return as_svg(figure)


PANELS = [RATIOS[place] for place in (0, 1, 3, 4, 5)] + [("OpenCL", "opencl", "f32")]


def curves(rows):
    """(contender, sizes, GFLOP/s) of squares with rows of whole 16 bytes."""
    squares = sorted(
        (row for row in rows if is_square(row) and row["m"] % 8 == 0 and "gflops" in row), key=lambda row: row["m"]
    )
    names = list(dict.fromkeys(name for row in squares for name in row["gflops"]))
    for name in names:
        yield name, *zip(*[(row["m"], row["gflops"][name]) for row in squares if name in row["gflops"]])


def sizes():
    """Speed of squares against their size, for us and each rival of the run."""
    figure, panels = plt.subplots(2, 3, figsize=(9, 5.2))
    for axes, (place, name, type_) in zip(panels.flat, PANELS):
        is_gpu = load(name)["device"]["kind"] == "gpu"
        unit, scale = ("TFLOP/s", 1e3) if is_gpu else ("GFLOP/s", 1)
        for number, (contender, m, gflops) in enumerate(curves(rows_of(name, type_))):
            axes.plot(
                m,
                [value / scale for value in gflops],
                marker="o",
                markersize=3,
                label=title(contender),
                color=OURS if contender == "exactile" else RIVALS[(number - 1) % 3],
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(bottom=0)
        axes.set_title(label(place, name, type_))
        axes.set_ylabel(unit)
        axes.grid()
        axes.legend(fontsize=7, loc="lower right")
    for axes in panels[1]:
        axes.set_xlabel("m = n = k")
    return as_svg(figure)


def shapes():
    """Ratio to the fastest rival over shapes: how much work, and how much of it an element of memory serves."""
    figure, panels = plt.subplots(1, 4, figsize=(10, 2.9), sharey=True)
    for axes, (place, name, type_) in zip(panels, [RATIOS[0], RATIOS[3], RATIOS[4], RATIOS[5]]):
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
        axes.set(xscale="log", yscale="log", title=label(place, name, type_), xlabel="operations")
        axes.grid()
    panels[0].set_ylabel("operations an element")
    bar = figure.colorbar(dots, ax=panels, ticks=[0.5, 1, 2], extend="both", pad=0.01)
    bar.ax.set_yticklabels(["0.5 x", "1 x", "2 x"])
    bar.ax.minorticks_off()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def near(one, other, factor):
    return all(a < factor * b and b < factor * a for a, b in zip(one, other))


def squares_of(points):
    """A panel for each square of {title: [(name, ours, seconds, error)]}: error against time."""
    figure, panels = plt.subplots(1, len(points), figsize=(9.5, 3.4), sharey=True)
    for axes, (heading, dots) in zip(panels, points.items()):
        labels = []
        for name, ours, seconds, error in dots:
            axes.plot(1e3 * seconds, error, "o", color=OURS if ours else RIVALS[0], markersize=5)
            same = [label for label in labels if label[1] == ours and near(label[2:], (seconds, error), 1.15)]
            if same:
                same[0][0] += f", {name}"
            else:
                labels.append([name, ours, seconds, error])
        for place, (name, _, seconds, error) in enumerate(labels):
            beside = any(near(label[2:], (seconds, error), 2.5) for label in labels[:place])
            axes.annotate(name, (1e3 * seconds, error), fontsize=7, xytext=(4, -9 if beside else 3), textcoords="offset points")
        axes.set(xscale="log", yscale="log", xlabel="milliseconds", title=heading)
        axes.margins(x=0.3)
        axes.grid()
    panels[0].set_ylabel("error, Frobenius norm over that of C")
    for name, colour in (("exactile", OURS), ("cuBLAS", RIVALS[0])):
        panels[-1].plot([], [], "o", color=colour, label=name)
    panels[-1].legend(loc="upper right")
    return as_svg(figure)


def errors():
    """f32 on a GPU: each accuracy of ours, and cuBLAS where it was asked for f32 or for less."""
    points = {}
    for row in load("gpu_accuracy")["results"]:
        if row["type"] != "f32" or not is_square(row):
            continue
        accuracy = row.get("accuracy", "standard")
        dots = points.setdefault(f"f32 {shape(row)}", [])
        for name in ("exactile", "cublas") if accuracy in ("reduced", "standard") else ("exactile",):
            if name in row["norm_error"]:
                seconds = operations(row) / (row["gflops"][name] * 1e9)
                dots.append((accuracy.replace("_", " "), name == "exactile", seconds, row["norm_error"][name]))
    return squares_of(points)


def ladder():
    """The kernels of both ladders as bars."""
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4))
    for axes, name in zip(panels, ("cpu_ladder", "gpu_ladder")):
        data = load(name)
        named = steps(name)
        if "exactile" in named and named["exactile"]["kernel"] in named:
            del named["exactile"]  # a step that has its own bar
        found = sorted(named.items(), key=lambda step: -step[1]["speed"])
        first = found[0][1]
        speeds = [row["speed"] for _, row in found]
        axes.barh([row["kernel"] if kernel == "exactile" else title(kernel) for kernel, row in found], speeds,
                  color=[OURS if title(kernel) == kernel else RIVALS[0] for kernel, _ in found], height=0.7)
        for place, (_, row) in enumerate(found):
            axes.annotate(
                f"{100 * row['of_peak']:.0f} %",
                (speeds[place], place),
                fontsize=7,
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_xscale("log")
        axes.set_xlim(min(speeds) / 2, max(speeds) * 2)
        axes.set_title(f"{device(data)}, f32 {shape(first)}")
        axes.set_xlabel("GFLOP/s; share of the peak")
        axes.grid(axis="x")
    return as_svg(figure)


def modes():
    """f32 on a GPU: what each accuracy of ours and each mode of cuBLAS takes, and errs."""
    return squares_of({
        f"f32 {shape(row)}": [
            (name.removeprefix("exactile ").removeprefix("cuBLAS "), name.startswith("exactile"), seconds,
             row["norm_error"][name])
            for name, seconds in row["seconds"].items()
        ]
        for row in load("modes")["results"]
    })


def training():
    """How far each training's loss is from that of the same steps in float64."""
    data = load("training")
    figure, axes = plt.subplots(figsize=(7, 3.4))
    steps = [row["step"] for row in data["results"]]
    names = ["torch tf32", "torch f32", "torch f32, sums reordered", "exactile"]
    for name, colour in zip(names, [RIVALS[0], RIVALS[1], RIVALS[2], OURS]):
        distance = [abs(row["loss"][name] - row["loss"]["float64"]) for row in data["results"]]
        axes.plot(steps, distance, color=colour, linewidth=1, label=name)
    axes.set(yscale="log", xlabel="step", ylabel="|loss - loss in float64|")
    axes.grid()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(names), fontsize=8)
    return as_svg(figure)


def pictures():
    return [(draw.__name__, draw()) for draw in (ratios, sizes, shapes, errors, ladder, modes, training)]
