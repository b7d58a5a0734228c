# SPDX-License-Identifier: Apache-2.0
"""`bench --suite`: many products, this library and others in turns, kept as they are done."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

SUITE = """# three products
types f32 f64
8x9x10
3x8x8x8 tb   # a batch
types i32
5x6x7 ta
"""
ROWS = [("f32", 8, 9, 10), ("f64", 8, 9, 10), ("f32", 8, 8, 8), ("f64", 8, 8, 8), ("i32", 5, 6, 7)]
QUICK = ("--seconds", "0.001", "--threads", "1")


@pytest.fixture
def suite(program):
    (program.folder / "three.txt").write_text(SUITE)
    return ("bench", "--suite", "three.txt", *QUICK)


def results(program):
    return json.loads((program.folder / "out.json").read_text())


def test_results(program, suite):
    text = program(*suite, "-o", "out.json").stdout
    assert all(shape in text for shape in ("8x9x10", "3x8x8x8", "5x6x7"))
    document = results(program)
    assert document["schema"] == "exactile.results/1" and document["family"] == "three"
    assert document["device"]["kind"] == "cpu" and document["device"]["threads"] == 1 and document["device"]["name"]
    assert document["command"].startswith("exactile bench --suite three.txt") and document["provenance"]["kind"] == "measured"
    assert document["ceilings"]["gbytes_per_second"] > 0 and document["ceilings"]["gflops"]["f32"] > 0
    assert [(row["type"], row["m"], row["n"], row["k"]) for row in document["results"]] == ROWS
    for row in document["results"]:
        operations = 2 * row["m"] * row["n"] * row["k"] * row.get("batch", 1)
        assert row["gflops"]["exactile"] == pytest.approx(operations / row["seconds"]["exactile"] * 1e-9, rel=2e-3)
        assert row["kernel"] and row["rounds"] >= 6
    assert document["results"][2]["batch"] == 3 and document["results"][2]["layout"] == "B by columns"
    assert document["results"][4]["layout"] == "A by columns" and "norm_error" not in document["results"][4]
    assert 0 < document["results"][0]["norm_error"]["exactile"] < 1e-6


def test_a_suite_names_its_family_and_may_rotate_its_operands(program):
    (program.folder / "named.txt").write_text("family Three sizes,  small\n8x9x10\n")
    program("bench", "--suite", "named.txt", *QUICK, "--rotate", "on", "-o", "out.json")
    document = results(program)
    assert document["family"] == "Three sizes, small" and "rotating" in document["operands"]
    assert document["results"][0]["gflops"]["exactile"] > 0
    (program.folder / "bad.txt").write_text("family\n8x9x10\n")
    program.refuses("bench", "--suite", "bad.txt", code=3, says=["bad.txt, line 1", "'family': expected words"])
    program.refuses("bench", "--suite", "named.txt", "--rotate", "off", code=2, says="--rotate off: expected auto or on")


def test_a_device_and_its_memory_stand_in_the_results(program):
    if not any(one["backend"] == "opencl" and one["available"] for one in program.json("devices")["devices"]):
        pytest.skip("no OpenCL device")
    (program.folder / "one.txt").write_text("types f32\n64x64x64\n")
    program("bench", "--suite", "one.txt", "--seconds", "0.001", "--backend", "opencl", "-o", "out.json")
    document = results(program)
    assert document["device"]["kind"] == "gpu" and document["ceilings"]["gbytes_per_second"] > 0
    assert document["results"][0]["memory"] == "device" and document["operands"].endswith("in device memory")


def test_the_schema_of_the_repository_holds(program, suite):
    schema = os.path.join(os.path.dirname(__file__), "../../results/schema.json")
    jsonschema = pytest.importorskip("jsonschema")
    if not os.path.exists(schema):
        pytest.skip("there is no schema yet")
    program(*suite, "-o", "out.json")
    with open(schema, encoding="utf-8") as file:
        jsonschema.validate(results(program), json.load(file))


def test_it_goes_on_from_its_file(program, suite):
    program(*suite, "-o", "out.json")
    document = results(program)
    kept = document["results"].pop(1), document["results"].pop(3)
    (program.folder / "out.json").write_text(json.dumps(document))
    program(*suite, "-o", "out.json")
    again = results(program)["results"]
    assert again[:3] == document["results"] and len(again) == 5
    assert [{**row, "seconds": 0} == {**old, "seconds": 0} for row, old in zip(again[3:], kept)] == [False, False]
    assert [(row["type"], row["m"]) for row in again[3:]] == [(row["type"], row["m"]) for row in kept]
    assert not (program.folder / "out.json.part").exists()


def test_an_interruption_keeps_what_is_done(program):
    (program.folder / "long.txt").write_text("\n".join(f"{16 + i}x16x16" for i in range(8)))
    command = ("bench", "--suite", "long.txt", "--seconds", "0.3", "--threads", "1", "-o", "out.json")
    running = program.start(*command)
    deadline = time.monotonic() + 60
    while not (program.folder / "out.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert "products are kept in out.json; the same command goes on from there" in said
    kept = results(program)["results"]
    assert 1 <= len(kept) < 8 and not (program.folder / "out.json.part").exists()
    program(*command)
    assert results(program)["results"][:len(kept)] == kept and len(results(program)["results"]) == 8


def test_a_suite_says_what_operands_hold(program):
    (program.folder / "fills.txt").write_text("fills normal uniform\n8x9x10\nfills cancelling\n8x9x10\n")
    command = ["bench", "--suite", "fills.txt", *QUICK, "-o", "out.json"]
    program(*command)
    written = results(program)
    assert written["operands"].startswith("normal where a row names no other fill")
    assert [row.get("fill") for row in written["results"]] == [None, "uniform", "cancelling"]
    (program.folder / "out.json").unlink()
    program(*command, "--fill", "small_integers")
    assert {row["fill"] for row in results(program)["results"]} == {"small_integers"}
    assert not any("norm_error" in row for row in results(program)["results"])


def test_what_another_run_has_kept_is_refused(program, suite):
    program(*suite, "-o", "out.json")
    before = results(program)
    program.refuses(*suite, "--fill", "uniform", "-o", "out.json", code=2, says=["holds another run", "operands"])
    assert results(program) == before
    (program.folder / "out.json").write_text('{"schema": "something/1"}')
    program.refuses(*suite, "-o", "out.json", code=3, says="holds no")
    (program.folder / "out.json").write_text("[1, 2")
    program.refuses(*suite, "-o", "out.json", code=3, says="is no JSON at byte")


@pytest.mark.parametrize("line,says", [
    ("8x9", "'8x9': expected MxNxK"), ("8x9x0", "'8x9x0'"), ("8x9x10x", "'8x9x10x'"), ("1x2x3x4x5", "'1x2x3x4x5'"),
    ("8x9x10 tc", "'tc': expected ta or tb"), ("types f31", "'f31': expected a type"), ("types", "one or more types"),
    ("accuracies best", "'best': expected reduced"), ("fills full", "'full': expected normal"),
    ("fills", "one or more fills"), ("4294967296x4294967296x1", "does not fit in 64 bits"),
    ("# nothing", "holds no product")])
def test_a_line_that_is_wrong_is_named(program, line, says):
    (program.folder / "bad.txt").write_text(f"4x4x4\n{line}\n" if "nothing" not in line else line)
    code = 2 if "64 bits" in says else 3
    program.refuses("bench", "--suite", "bad.txt", *QUICK, code=code, says=says)


def test_usage(program, suite):
    program.refuses(*suite, "--m", "3", code=2, says="--suite has sizes of its own")
    program.refuses("bench", "--suite", "none.txt", code=3, says="none.txt: cannot be read")
    program.refuses("bench", "--suite", ".", code=3, says="is a folder")
    program.refuses("bench", "--m", "3", code=2, says="--m, --n and --k are required, or --suite FILE")
    program.refuses("bench", "--m", 3, "--n", 3, "--k", 3, "--rivals", "auto", code=2, says="are of --suite")
    program.refuses(*suite, "--rivals", "fast=/lib.so", code=4, says="expected one of openblas")
    program.refuses(*suite, "--rivals", "blis=/nowhere/libblis.so", code=4, says="cannot load /nowhere/libblis.so")
    program.refuses(*suite, "--kernel", "none", code=2, says="--kernel none: is not known")


def test_types_and_accuracy_of_the_command_line_take_the_files_place(program, suite):
    rows = json.loads(program(*suite, "--type", "bf16->f32", "--accuracy", "reduced", "--json").stdout)["results"]
    assert {row["type"] for row in rows} == {"bf16->f32"} and {row["accuracy"] for row in rows} == {"reduced"}
    assert len(rows) == 3


def test_kernels_compete_by_name(program, suite):
    rows = json.loads(program(*suite, "--kernel", "cpu_naive,portable_blocked", "--json").stdout)["results"]
    for row in rows:
        assert {"exactile", "exactile:cpu_naive", "exactile:portable_blocked"} <= set(row["gflops"])
        assert "ratio" not in row  # our own kernels are no rivals


def test_what_a_promise_costs(program, suite):
    """`own` is the same library without the promise."""
    rows = json.loads(program(*suite, "--type", "f32", "--reproducible", "--rivals", "own", "--json").stdout)["results"]
    for row in rows:
        assert row["accuracy"] == "standard, reproducible" and row["rival"] == "exactile standard" and row["ratio"] > 0
        assert {"exactile", "exactile standard"} == set(row["gflops"])
    rows = json.loads(program(*suite, "--type", "f32", "--accuracy", "compensated", "--rivals", "own", "--json").stdout)
    assert all("certified" in row["kernel"] and row["ratio"] > 0 for row in rows["results"])


def test_a_rival(program, suite):
    """The BLAS that this repository builds answers as OpenBLAS does, so it can be one."""
    rival = os.environ.get("EXACTILE_BLAS")
    if not rival:
        pytest.skip("this build has no libexactile_blas.so")
    done = program(*suite, "--type", "f32,f64", "--rivals", f"openblas-ours={rival}", "-o", "out.json")
    assert "openblas-ours" in done.stdout and "the best rival" in done.stdout
    for row in results(program)["results"]:
        assert row["rival"] == "openblas-ours" and row["ratio"] > 0
        assert set(row["gflops"]) == set(row["norm_error"]) == {"exactile", "openblas-ours"}
    assert results(program)["contenders"]["openblas-ours"]


def test_a_rival_that_is_wrong_is_not_timed(program, suite):
    """Its products leave C as it was."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    names = [f"cblas_{name}" for name in ("sgemm", "dgemm", "cgemm", "zgemm", "sgemv", "dgemv", "sdot", "ddot")]
    (program.folder / "idle.c").write_text("".join(f"void {name}(void) {{}}\n" for name in
                                                   [*names, "openblas_set_num_threads"]))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "idle.so", "idle.c"], cwd=program.folder, check=True)
    rival = f"openblas-idle={program.folder}/idle.so"
    done = program(*suite, "--type", "f32", "--rivals", rival, "-o", "out.json")
    assert "not timed: 8x9x10 f32 of openblas-idle: its result is wrong: " in done.stderr
    for row in results(program)["results"]:
        assert set(row["gflops"]) == {"exactile"} and "ratio" not in row


def test_rivals_that_are_not_there_are_named(program, suite):
    said = program(*suite, "--rivals", "auto").stderr
    line = next(line for line in said.splitlines() if line.startswith("exactile: not found: "))
    assert set(line.split(": ")[2].split(", ")) & {"mkl", "blis", "libxsmm", "onednn_matmul"}


def test_suites_of_the_repository(program):
    folder = os.path.join(os.path.dirname(__file__), "../../suites")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".txt"))
    assert {"square.txt", "thin.txt", "small.txt", "batched.txt", "users.txt", "accuracy.txt"} <= set(names)
    rows = json.loads(program("bench", "--suite", os.path.join(folder, "small.txt"), *QUICK, "--type", "f32",
                              "--json").stdout)["results"]
    assert [row["m"] for row in rows] == [16, 32, 64, 128]
