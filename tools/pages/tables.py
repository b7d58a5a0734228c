# SPDX-License-Identifier: Apache-2.0
"""The tables that pages hold, from results/. A page asks for one by its function's name and arguments."""

from results import files, find, geometric_mean, is_square, load, shape


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def speed(gflops, type_="f32"):
    """In tera or giga, whichever leaves one to four digits before the point."""
    value, prefix = (gflops / 1000, "T") if gflops >= 1000 else (gflops, "G")
    return (
        f"{value:.0f}" * (value >= 100)
        + f"{value:#.3g}" * (value < 100)
        + f" {prefix}{'OP' if type_[0] == 'i' else 'FLOP'}/s"
    )


def ratio(value):
    return f"{value:.2f} x" if value < 5 else f"{value:.1f} x"


def best_rival(row):
    rivals = {name: value for name, value in row["gflops"].items() if name != "exactile"}
    return max(rivals, key=rivals.get) if rivals else row["rival"]


def headlines():
    """README's one table: eight products, our speed and its ratio to the fastest rival of the run."""
    square = dict(m=2048, n=2048, k=2048)
    chosen = [
        ("one Zen 5 core", "zen5-cpu", dict(type="f32", **square)),
        ("one Zen 5 core", "zen5-cpu", dict(type="f64", **square)),
        ("one Zen 5 core", "zen5-cpu", dict(type="f32", batch=10000)),
        ("H200", "h200-cuda-f32", dict(m=8192, k=8192)),
        ("H200", "h200-cuda-f64", dict(m=8192)),
        ("H200", "h200-cuda-native", dict(type="bf16", m=8192, k=8192)),
        ("H200, operands in host memory", "h200-host-to-host", dict(m=32768, memory="host, pageable")),
        ("H200, OpenCL", "h200-opencl", dict(type="f32", m=4096, k=4096)),
    ]
    rows = []
    for device, name, wanted in chosen:
        row = find(load(name)["results"], **wanted)
        rows.append(
            [
                device,
                f"{row['type']} {shape(row)}",
                speed(row["gflops"]["exactile"], row["type"]),
                ratio(row["ratio"]),
                best_rival(row),
            ]
        )
    return table(["device", "product", "exactile", "over the best rival", "which is"], rows)


def families():
    """One line a file with rivals: geometric mean and lowest ratio of each type, and what it was made by."""
    lines = []
    for path in files():
        data = load(path.stem)
        ratios, lowest = {}, []
        for row in data["results"]:
            if "ratio" in row:
                ratios.setdefault(row["type"], []).append(row)
        if not ratios:
            continue
        for rows in ratios.values():
            least = min(rows, key=lambda row: row["ratio"])
            lowest.append(f"{least['ratio']:.2f}, {shape(least)}")
        means = [f"{name} {geometric_mean([row['ratio'] for row in rows]):.2f}" for name, rows in ratios.items()]
        software = " ".join(
            f"{key} {value}" for key, value in data["software"].items() if key in ("CUDA", "driver", "compiler")
        )
        lines.append(
            [
                f"[{data['family']}](../results/{path.name})",
                data["device"]["name"].split(" (")[0].split(",")[0],
                len(data["results"]),
                "<br>".join(means),
                "<br>".join(lowest),
                f"{data['date']} {data['commit']}",
                software,
            ]
        )
    return table(["results", "device", "products", "mean ratio", "lowest", "date, commit", "with"], lines)


def pairs(name, first, second):
    """The ratios of one file's two types side by side."""
    data = load(name)["results"]
    lines = []
    for row in (row for row in data if row["type"] == first):
        other = [match for match in data if match["type"] == second and shape(match) == shape(row)]
        cells = [shape(row)]
        for match in (row, other[0]):
            cells += [speed(match["gflops"]["exactile"], match["type"]), f"{match['ratio']:.2f}"]
            if "fraction_of_peak" in match:
                cells.append(f"{match['rival'].split(' ')[0]}")
        lines.append(cells)
    rival = ["rival"] if len(lines[0]) == 7 else []
    return table(["product", first, "over the best", *rival, second, "over the best", *rival], lines)


def contenders(name, *types):
    """Speeds of all contenders, the ratio, and errors where the file has them."""
    data = [row for row in load(name)["results"] if "gflops" in row and (not types or row["type"] in types)]
    rivals = list(dict.fromkeys(rival for row in data for rival in row["gflops"] if rival != "exactile"))
    errors = any("norm_error" in row for row in data)
    lines = []
    for row in data:
        label = f"{row['type']} {shape(row)}" + (f", {row['threads']} threads" if "threads" in row else "")
        label += f", {row['memory'].split(', ')[1]}" if "memory" in row else ""
        cells = [label, speed(row["gflops"]["exactile"], row["type"])]
        cells += [speed(row["gflops"][rival], row["type"]) if rival in row["gflops"] else "" for rival in rivals]
        cells.append(f"{row['ratio']:.2f}" if "ratio" in row else "")
        if errors:
            cells += [
                f"{row['norm_error'][one]:.1e}" if one in row.get("norm_error", {}) else ""
                for one in ("exactile", "cuBLAS")
            ]
        lines.append(cells)
    return table(
        ["product", "exactile", *rivals, "over the best", *(["error", "cuBLAS's error"] if errors else [])], lines
    )


def ladder(name):
    """The kernels of a ladder's file on its largest product, slowest first."""
    data = load(name)["results"]
    first = data[0]
    rows = sorted((row for row in data if row["m"] == first["m"]), key=lambda row: row["gflops"]["exactile"])
    base = rows[0]["gflops"]["exactile"]
    return table(
        ["kernel", shape(first), "over the slowest", "of the peak"],
        [
            [
                f"`{row['kernel']}`",
                speed(row["gflops"]["exactile"], row["type"]),
                ratio(row["gflops"]["exactile"] / base),
                f"{100 * row['fraction_of_peak']:.0f} %",
            ]
            for row in rows
        ],
    )


def step(name, *kernels):
    """One line for a page of the ladder: what its kernel, and the one before it, reach."""
    data = load(name)
    rows = [
        next(row for row in data["results"] if row["kernel"] == kernel and row["m"] == data["results"][0]["m"])
        for kernel in kernels
    ]
    return table(
        ["kernel", f"{rows[0]['type']} {shape(rows[0])}, {data['device']['name']}", "of the peak"],
        [
            [
                f"`{row['kernel']}`",
                speed(row["gflops"]["exactile"], row["type"]),
                f"{100 * row['fraction_of_peak']:.0f} %",
            ]
            for row in rows
        ],
    )


def choices():
    """How much slower the planner's choices are than the fastest kernel and configuration."""
    summary = load("h200-cuda-choice")["summary"]
    return table(
        ["type", "random products", "mean", "worst", "slower by a tenth or more"],
        [
            [
                name,
                one["products"],
                f"{one['mean']:.3f}",
                f"{one['worst']:.2f}",
                f"{100 * one['share_above_1.1']:.0f} %",
            ]
            for name, one in summary.items()
        ],
    )


def squares(*columns):
    """Ratios of squares, a column for each FILE:TYPE."""
    cells = {}
    for place, column in enumerate(columns):
        name, _, type_ = column.partition(":")
        for row in load(name)["results"]:
            if row["type"] == type_ and is_square(row) and "ratio" in row:
                cells.setdefault(row["m"], [""] * len(columns))[place] = f"{row['ratio']:.2f}"
    return table(
        ["square", *(column.partition(":")[2] for column in columns)], [[f"{m}^3", *cells[m]] for m in sorted(cells)]
    )


def errors_of_ladder(name, *kernels):
    """Speed of these kernels, and their largest relative error on uniform operands."""
    data = load(name)["results"]
    lines = []
    for kernel in kernels:
        fast = next(row for row in data if row["kernel"] == kernel and "fill" not in row)
        exact = find(data, kernel=kernel, fill="uniform")
        lines.append([f"`{kernel}`", speed(fast["gflops"]["exactile"]), f"{exact['relative_error']:.1e}"])
    return table(["kernel", f"f32 {shape(fast)}", f"largest relative error, uniform, {shape(exact)}"], lines)


def kernels(name):
    """Each row's kernel and speed."""
    data = load(name)
    return table(
        ["kernel", "product", data["device"]["name"]],
        [[f"`{row['kernel']}`", f"{row['type']} {shape(row)}", speed(row["gflops"]["exactile"], row["type"])] for row in data["results"]],
    )
