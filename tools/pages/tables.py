# SPDX-License-Identifier: Apache-2.0
"""The tables that pages hold, from results/. A page asks for one by its function's name and arguments."""

from results import as_standard, device, find, geometric_mean, is_square, load, path, runs, shape


# Contenders of suites as people call them.
RIVALS = {
    "cublas": "cuBLAS",
    "cublaslt": "cuBLASLt",
    "cublasxt": "cuBLASXt",
    "clblast": "CLBlast",
    "openblas": "OpenBLAS",
    "openblas_vector": "OpenBLAS gemv",
    "onednn": "oneDNN",
    "onednn_matmul": "oneDNN matmul",
    "mkl": "MKL",
    "mkl_vector": "MKL gemv",
    "blis": "BLIS",
    "libxsmm": "libxsmm",
}


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


def title(contender):
    """As people call it: openblas-avx512 is OpenBLAS."""
    return RIVALS.get(contender.partition("-")[0], contender)


def rivals_of(row):
    return [name for name in row["gflops"] if name.partition(":")[0] != "exactile"]


def best_rival(row):
    rivals = rivals_of(row)
    return title(max(rivals, key=row["gflops"].get)) if rivals else title(row["rival"])


def kind(row):
    """Its type, and its accuracy where that is not the default."""
    accuracy = row.get("accuracy", "standard")
    return row["type"] if accuracy == "standard" else f"{row['type']} {accuracy}"


def is_ours(row):
    """Compared with another product of this library."""
    return row.get("rival", "").startswith("exactile")


def source(*names):
    """Where a table of docs/performance.md comes from, above it."""
    links = {f"[{path(name).name}](../results/{path(name).name})": device(load(name)) for name in names}
    return "\n".join(f"{place}, {link}:" for link, place in links.items()) + "\n\n"


def headlines():
    """README's one table: eight products, our speed and its ratio to the fastest rival of the run."""
    square = dict(m=2048, n=2048, k=2048)
    chosen = [
        ("one core", "cpu", dict(type="f32", **square)),
        ("one core", "cpu", dict(type="f64", **square)),
        ("one core", "cpu", dict(type="f32", m=8, n=2048, k=2048)),
        ("", "gpu_square", dict(type="f32", m=8192, n=8192, k=8192)),
        ("", "gpu_square", dict(type="f64", m=8192)),
        ("", "gpu_narrow", dict(type="bf16", m=8192, n=8192, k=8192)),
        ("operands in host memory", "host", dict(m=16384, memory="host, pageable")),
        ("OpenCL", "opencl", dict(type="f32", m=4096, n=4096, k=4096)),
    ]
    rows = []
    for place, name, wanted in chosen:
        data = load(name)
        row = find(as_standard(data["results"]), **wanted)
        rows.append(
            [
                f"{device(data)}, {place}" if place else device(data),
                f"{row['type']} {shape(row)}",
                speed(row["gflops"]["exactile"], row["type"]),
                ratio(row["ratio"]),
                best_rival(row),
            ]
        )
    return table(["device", "product", "exactile", "over the best rival", "which is"], rows)


def families():
    """One line a run with rivals: geometric mean and lowest ratio of each type, and what it was made by."""
    lines = []
    for file, data in runs():
        ratios = {}
        for row in data["results"] if len(data["results"]) > 1 else []:  # the ladder has pages of its own
            if "ratio" in row and not (is_ours(row) and kind(row) == row["type"]):  # ours beside itself
                against = f", to our {row['rival'].removeprefix('exactile ')}" if is_ours(row) else ""
                ratios.setdefault(kind(row) + against, []).append(row)
        if not ratios:
            continue
        told = []
        for name, rows in ratios.items():
            least = min(rows, key=lambda row: row["ratio"])
            mean = geometric_mean([row["ratio"] for row in rows])
            told.append(f"{name} {mean:.2f}" + (f"; {least['ratio']:.2f} at {shape(least)}" if len(rows) > 1 else ""))
        software = " ".join(
            f"{key} {value}" for key, value in data["software"].items() if key in ("CUDA", "driver", "compiler")
        )
        lines.append(
            [
                f"[{data['family']}](../results/{file.name})",
                device(data),
                len(data["results"]),
                "<br>".join(told),
                f"{data['date']} {data['commit']}",
                software,
            ]
        )
    return table(["results", "device", "products", "mean ratio; the lowest", "date, commit", "with"], lines)


def remarks(row):
    """Several threads, and what other operands than N(0, 1) hold."""
    threads = f", {row['threads']} threads" if row.get("threads", 1) > 1 else ""
    return threads + (f", {row['fill'].replace('_', ' ')} operands" if "fill" in row else "")


def losses():
    """All products on which a rival of the same run is faster by more than 5 %: a line a type, the worst first."""
    lost = {}
    for _, data in runs():
        for row in data["results"]:
            promises_more = row.get("accuracy") in ("compensated", "correctly_rounded")  # than any rival
            if row.get("ratio", 1) < 0.95 and not is_ours(row) and not promises_more:
                of_type = lost.setdefault(f"{kind(row)}{remarks(row)}", {})
                products = of_type.setdefault(f"{best_rival(row)}, {device(data)}", {})
                products[shape(row)] = min(row["ratio"], products.get(shape(row), 1))
    lines = []
    for type_, rivals in lost.items():
        worst = sorted(
            (sorted((ratio, product_) for product_, ratio in products.items()), rival)
            for rival, products in rivals.items()
        )
        cell = "<br>".join(rival + ": " + ", ".join(f"{ratio:.2f} at {product_}" for ratio, product_ in products)
                           for products, rival in worst)
        lines.append((worst, [type_, cell]))
    return table(["type", "ratio to"], [line for _, line in sorted(lines)])


def over(row):
    """{a rival as people call it: ours over it}; of two routines of one library the faster counts."""
    fastest = {}
    for name in rivals_of(row):
        library = title(name).split(" ")[0]
        fastest[library] = max(fastest.get(library, 0), row["gflops"][name])
    ratios = {library: row["gflops"]["exactile"] / gflops for library, gflops in fastest.items()}
    return {**ratios, title(row["rival"]).split(" ")[0]: row["ratio"]}


def pairs(name, more, *types):
    """The speeds of one run's types side by side, each with its ratio over every rival: those of the run, and, within
    that, those that only another run has."""
    lines, heads = {}, ["product"]
    for type_ in types:
        runs = [{shape(row): row for row in as_standard(load(one)["results"]) if row["type"] == type_} for one in (name, more)]
        here, there = ({product_: over(row) for product_, row in run.items()} for run in runs)
        rivals = list(dict.fromkeys(rival for run in (here, there) for ratios in run.values() for rival in ratios))
        heads += [type_, *(f"over {rival}" for rival in rivals)]
        for product_, row in runs[0].items():
            ratios = {**there.get(product_, {}), **here[product_]}
            cells = lines.setdefault(product_, [product_])
            cells.append(speed(row["gflops"]["exactile"], type_))
            cells += [f"{ratios[rival]:.2f}" if rival in ratios else "" for rival in rivals]
    return source(name) + table(heads, lines.values())


def contenders(name, *types):
    """Speeds of all contenders, the ratio, and errors where the run has them."""
    rows = [row for row in as_standard(load(name)["results"]) if "gflops" in row and (not types or row["type"] in types)]
    rivals = list(dict.fromkeys(rival for row in rows for rival in rivals_of(row)))
    reference = next((rival for rival in rivals if any(rival in row.get("norm_error", {}) for row in rows)), None)
    lines = []
    for row in rows:
        label = f"{row['type']} {shape(row)}" + (f", {row['threads']} threads" if row.get("threads", 1) > 1 else "")
        label += f", {row['memory'].split(', ')[1]}" if ", " in row.get("memory", "") else ""
        cells = [label, speed(row["gflops"]["exactile"], row["type"])]
        cells += [speed(row["gflops"][rival], row["type"]) if rival in row["gflops"] else "" for rival in rivals]
        cells.append(f"{row['ratio']:.2f}" if "ratio" in row else "")
        if reference:
            errors = row.get("norm_error", {})
            cells += [f"{errors[one]:.1e}" if one in errors else "" for one in ("exactile", reference)]
        lines.append(cells)
    heads = ["error", f"{title(reference)}'s error"] if reference else []
    return source(name) + table(["product", "exactile", *map(title, rivals), "over the best", *heads], lines)


def errors(name, rival):
    """Our error over the rival's, a column for each kind of operands."""
    rows = load(name)["results"]
    fills = list(dict.fromkeys(row.get("fill", "normal") for row in rows))
    cells = {}
    for row in rows:
        ours, theirs = (row["norm_error"].get(one) for one in ("exactile", rival))
        if ours and theirs:
            cells.setdefault(shape(row), {})[row.get("fill", "normal")] = f"{ours / theirs:.2f}"
    return source(name) + table(
        ["product", *(fill.replace("_", " ") for fill in fills)],
        [[product, *(ratios.get(fill, "") for fill in fills)] for product, ratios in cells.items()],
    )


def choices():
    """How much slower the planner's choices are than the fastest kernel and configuration."""
    summary = load("gpu_choice")["summary"]
    return source("gpu_choice") + table(
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
    """Ratios of squares, a column for each RUN:TYPE."""
    cells = {}
    for place, column in enumerate(columns):
        name, _, type_ = column.partition(":")
        for row in as_standard(load(name)["results"]):
            if row["type"] == type_ and is_square(row) and "ratio" in row:
                cells.setdefault(row["m"], [""] * len(columns))[place] = f"{row['ratio']:.2f}"
    return source(*(column.partition(":")[0] for column in columns)) + table(
        ["square", *(column.partition(":")[2] for column in columns)], [[f"{m}^3", *cells[m]] for m in sorted(cells)]
    )


def trained(name):
    """Of each training its speed, and how far its loss is from that of float64."""
    data = load(name)
    last, base = data["results"][-1]["loss"], data["summary"]["torch f32"]["seconds_a_step"]
    rows = [
        [who, f"{1e3 * one['seconds_a_step']:.1f} ms", ratio(base / one["seconds_a_step"]), f"{last[who]:.6f}",
         f"{one['deviation']:.1e}" if one["deviation"] else ""]
        for who, one in data["summary"].items()
    ]
    return table(["training", "a step", "over torch's f32", f"loss after {len(data['results'])} steps",
                  "from float64's, root mean square"], rows)
