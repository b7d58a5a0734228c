# SPDX-License-Identifier: Apache-2.0
"""What each command prints, as text and as JSON."""
import csv
import io
import os
import pathlib
import subprocess

import pytest

ROW = {"kernel", "backend", "type", "accuracy", "m", "n", "k", "batch", "median_seconds", "min_seconds",
       "first_call_seconds", "seconds_with_copies", "gflops", "fraction_of_peak", "max_relative_error",
       "error_in_u", "norm_error", "error_over_bound"}
TYPES = ["f64", "f32", "f16", "f16->f32", "bf16", "bf16->f32", "f8e4m3->f32", "f8e4m3->bf16", "f8e5m2->f32",
         "f8e5m2->bf16", "i64", "i32", "i8->i32", "cf64", "cf32",
         "u8->i32", "u8xi8->i32", "i8xu8->i32", "i16->i32", "i32->i64"]
SIZES = ["--m", "33", "--n", "34", "--k", "35"]


def available_kernels(program, kind):
    return [kernel["name"] for kernel in program.json("kernels")["kernels"]
            if kernel["available"] and kind in kernel["types"]]


def device_kernels(program, available):
    """Names of kernels that compute in a device's own memory."""
    return [kernel["name"] for kernel in program.json("kernels")["kernels"]
            if kernel["on_device"] and kernel["available"] == available and "f32" in kernel["types"]]


def test_devices(program):
    document = program.json("devices")
    assert document["schema"] == "exactile.devices/1"
    cpu = [device for device in document["devices"] if device["backend"] == "cpu"]
    assert cpu[0]["available"] and cpu[0]["name"]
    assert program("devices").stdout.startswith("cpu")


def test_kernels(program):
    document = program.json("kernels")
    assert document["schema"] == "exactile.kernels/1"
    for kernel in document["kernels"]:
        assert {"name", "backend", "types", "role", "available", "reason"} <= set(kernel)
        assert kernel["role"] in ("ladder", "engine")
        assert kernel["available"] == (kernel["reason"] == "")
    naive = [kernel for kernel in document["kernels"] if kernel["name"] == "cpu_naive"]
    assert naive[0]["types"] == TYPES
    text = program("kernels", "--backend", "cpu").stdout
    assert all(kernel["name"] in text for kernel in document["kernels"] if kernel["backend"] == "cpu")


def test_kernels_of_a_backend_that_is_not_here(program):
    if any(kernel["backend"] == "cuda" for kernel in program.json("kernels")["kernels"]):
        pytest.skip("CUDA is here")
    done = program("kernels", "--backend", "cuda")
    assert done.stdout == "" and "no kernels of cuda are here: " in done.stderr


def test_explain(program):
    document = program.json("explain", *SIZES, "--type", "f64", "--batch", "3", "--threads", "1")
    assert document["schema"] == "exactile.explain/1"
    assert (document["m"], document["n"], document["k"], document["batch"]) == (33, 34, 35, 3)
    assert document["type"] == "f64" and document["threads"] == 1
    chosen = [candidate for candidate in document["candidates"] if candidate["chosen"]]
    assert [candidate["kernel"] for candidate in chosen] == [document["kernel"]]
    assert all(candidate["reason"] for candidate in document["candidates"])
    assert document["kernel"] in program("explain", *SIZES, "--type", "f64").stdout


@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_ladder(program, kind):
    document = program.json("ladder", 60, 70, 80, "--type", kind)
    assert document["schema"] == "exactile.ladder/1" and document["device"]
    rows = document["results"]
    assert all(ROW | {"speedup", "model_bytes", "gbytes_per_second"} <= set(row) for row in rows)
    assert all((row["m"], row["n"], row["k"], row["type"]) == (60, 70, 80, kind) for row in rows)
    ran = {row["kernel"] for row in rows} | {skipped["kernel"] for skipped in document["skipped"]}
    assert set(available_kernels(program, kind)) <= ran
    times = [row["median_seconds"] for row in rows]
    assert times == sorted(times, reverse=True)
    naive = [row for row in rows if row["kernel"] == "cpu_naive"]
    assert naive[0]["speedup"] == 1
    assert all(0 <= row["error_over_bound"] <= 1 and row["model_bytes"] >= row["minimum_bytes"] > 0 for row in rows)


def test_ladder_text(program):
    done = program("ladder", 50, 30, 40, "--fill", "uniform")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("C (50 x 30) = A (50 x 40) * B (40 x 30), f32, uniform data")
    assert "peak" in done.stdout and "cpu_naive" in done.stdout and "1.00x" in done.stdout
    assert max(map(len, lines)) <= 120


def test_ladder_shows_kernels_in_the_accuracies_that_they_keep(program):
    rows = program.json("ladder", 50, 40, 30, "--kernel", "portable_certified")["results"]
    certified = {row["accuracy"]: row for row in rows if row["kernel"] == "portable_certified"}
    assert set(certified) == {"compensated", "correctly_rounded"}
    assert all(row["error_over_bound"] <= 1 and row["norm_error"] < 2**-24 for row in certified.values())
    assert "portable_certified/cr" in program("ladder", 50, 40, 30, "--kernel", "portable_certified").stdout


def test_ladder_of_one_kernel_keeps_the_base(program):
    kernel = [name for name in available_kernels(program, "f32") if name != "cpu_naive"][0]
    document = program.json("ladder", 16, 16, 16, "--kernel", kernel)
    assert {row["kernel"] for row in document["results"]} | {s["kernel"] for s in document["skipped"]} == {
        kernel, "cpu_naive"}


@pytest.mark.parametrize("memory", [(), ("--memory", "device"), ("--memory", "host")])
def test_ladder_keeps_the_processors_kernels_in_host_memory(program, memory):
    rows = program.json("ladder", 20, 30, 40, "--backend", "cpu", *memory)["results"]
    assert {row["kernel"] for row in rows} >= {"cpu_naive", "portable_blocked"}
    assert all(row["backend"] == "cpu" and row["seconds_with_copies"] is None for row in rows)


def test_ladder_says_why_a_device_is_missing(program):
    missing = device_kernels(program, available=False)
    skipped = {row["kernel"]: row["reason"] for row in program.json("ladder", 20, 30, 40)["skipped"]}
    assert set(missing) <= set(skipped) and all(skipped.values())
    notes = program("ladder", 20, 30, 40).stderr.splitlines()
    assert all(len(note) < 250 and note.startswith(("exactile: ", "not run (")) for note in notes), notes


def test_kernels_of_a_missing_device_are_refused(program):
    kernels = {kernel["name"]: kernel for kernel in program.json("kernels")["kernels"]}
    # A device that is there may still be too old for some of its backend's kernels.
    there = {kernel["backend"] for kernel in kernels.values() if kernel["available"]}
    missing = [name for name in device_kernels(program, available=False) if kernels[name]["backend"] not in there]
    if not missing:
        pytest.skip("every device is there")
    backend, reason = kernels[missing[0]]["backend"], kernels[missing[0]]["reason"]
    commands = [[command, *SIZES] for command in ("bench", "verify", "explain")]
    for command in [*commands, ["ladder", 3, 4, 5]]:
        program.refuses(*command, "--kernel", missing[0], code=4, says=[missing[0], reason])
    for command in [*commands, ["ladder", 3, 4, 5], ["bench", *SIZES, "--kernel", "all"]]:
        program.refuses(*command, "--backend", backend, code=4, says=[backend, reason])


def test_ladder_of_a_kernel_without_the_type(program):
    program.refuses("ladder", 3, 4, 5, "--type", "i32", "--kernel", "avx2_f32_fma_6x16", code=2,
                    says="kernel 'avx2_f32_fma_6x16' cannot do this product: does not multiply these types")


# Folder of a hierarchy (version 1, then 2), the file of its limit.
PROCESSOR_GROUPS = {"/sys/fs/cgroup/cpu": ("cpu.cfs_quota_us", "100000"),
                    "/sys/fs/cgroup": ("cpu.max", "100000 100000")}
MEMORY_GROUPS = {"/sys/fs/cgroup/memory": ("memory.limit_in_bytes", str(256 << 20)),
                 "/sys/fs/cgroup": ("memory.max", str(256 << 20))}


@pytest.fixture
def enter_group(request):
    """Moves the process that calls it into a control group that may have so much of one thing."""
    for parent, (file, limit) in request.param.items():
        folder = pathlib.Path(parent, f"exactile-test-{os.getpid()}")

        def enter():
            (folder / "cgroup.procs").write_text(str(os.getpid()))

        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            with open(folder / file, "r+") as control:  # one that is not there must not be made
                control.write(limit)
            subprocess.run(["true"], preexec_fn=enter, check=True)
        except (OSError, subprocess.SubprocessError):
            folder.rmdir()
            continue
        yield enter
        folder.rmdir()
        return
    pytest.skip("no control group can be made here")


@pytest.mark.parametrize("enter_group", [PROCESSOR_GROUPS], indirect=True)
def test_the_quota_of_its_group_bounds_the_processors(program, enter_group):
    assert "usable processors 1\n" in program("devices", limits=enter_group).stdout


@pytest.mark.parametrize("enter_group", [MEMORY_GROUPS], indirect=True)
def test_the_limit_of_its_group_bounds_the_memory(program, enter_group):
    large = ("bench", "--m", 8192, "--n", 8192, "--k", 8192)
    program.refuses(*large, code=4, says=["would take", "of memory; ", " MB are available"], limits=enter_group)


def test_ladder_on_a_device(program):
    there = device_kernels(program, available=True)
    if not there:
        pytest.skip("no device")
    done = program("ladder", 200, 300, 400)
    assert max(map(len, done.stdout.splitlines())) <= 120 and "copied" in done.stdout
    rows = {row["kernel"]: row for row in program.json("ladder", 200, 300, 400)["results"]}
    assert set(there) & set(rows)
    for name in set(there) & set(rows):
        assert rows[name]["seconds_with_copies"] > 0 and rows[name]["passed"]
        # Where the device is the processor itself nothing is copied, and either time may be the longer one.
        if rows[name]["backend"] == "cuda":
            assert rows[name]["seconds_with_copies"] > rows[name]["median_seconds"]
    (row,) = program.json("bench", *SIZES, "--kernel", there[0], "--seconds", "0.05")["results"]
    assert row["seconds_with_copies"] > 0
    assert program.json("verify", *SIZES, "--type", "f32", "--kernel", there[0])["passed"]


def test_sweep(program):
    document = program.json("ladder", "--sweep", "--max", "1e6")
    assert document["schema"] == "exactile.ladder/1"
    assert sorted({row["m"] for row in document["results"]}) == [10, 22, 46, 100]
    assert all(row["speedup"] > 0 for row in document["results"])
    lines = program("ladder", "--sweep", "--max", "1e4").stdout.splitlines()
    sizes = [line.split()[0] for line in lines if line.startswith("1e")]
    assert list(dict.fromkeys(sizes)) == ["1e3", "1e4"] and max(map(len, lines)) <= 120


def test_bench(program):
    document = program.json("bench", *SIZES, "--seconds", "0.05")
    assert document["schema"] == "exactile.bench/1" and document["device"]
    (row,) = document["results"]
    assert ROW <= set(row) and row["operand_copies"] == 1
    assert 0 < row["min_seconds"] <= row["median_seconds"] and row["first_call_seconds"] > 0


def test_bench_of_prepared_operands(program):
    for which in ("", "a", "ab"):
        (row,) = program.json("bench", *SIZES, "--seconds", "0.01", *(["--prepared", which] if which else []))["results"]
        assert row["passed"] and row["prepared"] == which and row["path_counts"] == {}


def test_bench_of_several(program):
    document = program.json("bench", *SIZES, "--kernel", "all", "--type", "f32,f64", "--batch", "3", "--transpose-a",
                            "--threads", "1", "--seconds", "0.01", code=0)
    assert {row["type"] for row in document["results"]} == {"f32", "f64"}
    assert all(row["batch"] == 3 and row["error_over_bound"] <= 1 for row in document["results"])
    assert "spread" in program("bench", *SIZES, "--seconds", "0.01").stdout


def test_bench_rotates_vector_like_operands(program):
    sizes = ["--m", 1, "--n", 50, "--k", 50, "--seconds", "0.05"]
    (row,) = program.json("bench", *sizes)["results"]
    assert row["operand_copies"] > 100
    (row,) = program.json("bench", *sizes, "--rotate", "off")["results"]
    assert row["operand_copies"] == 1


@pytest.mark.parametrize("kind", TYPES)
def test_verify(program, kind):
    document = program.json("verify", *SIZES, "--type", kind)
    assert document["schema"] == "exactile.verify/1"
    assert document["passed"] and document["failures"] == 0 and document["cases"] == len(document["results"]) > 0
    for result in document["results"]:
        assert result["passed"] and result["error_over_bound"] <= 1 and result["failure"] == ""
        assert result["reproduce"].startswith("exactile verify --m 33 --n 34 --k 35")


def test_verify_reproduces_itself(program):
    """The line that verify prints for a case runs that case and no other."""
    first = program.json("verify", *SIZES, "--type", "f64", "--fill", "cancelling", "--kernel", "cpu_naive", "--seed",
                         "9", "--batch", "2", "--layout-a", "40,1,2000", "--alpha", "0.5", "--beta", "-2",
                         "--threads", "1")["results"]
    assert len(first) == 1
    again = program.json(*first[0]["reproduce"].replace("'", "").split()[1:])["results"]
    assert again == first


def test_reduced_accuracy(program):
    """Every kernel may do better than it must: `reduced` takes all that `standard` takes."""
    for command in ("explain", "bench", "verify"):
        document = program.json(command, *SIZES, "--type", "f32", "--accuracy", "reduced")
        rows = document.get("results", [document])
        assert rows and all(row["accuracy"] == "reduced" for row in rows)
        assert all(row["passed"] for row in rows if "passed" in row)
    (row,) = program.json("verify", *SIZES, "--type", "f32", "--fill", "normal", "--kernel", "cpu_naive", "--accuracy",
                          "reduced")["results"]
    assert "--accuracy reduced" in row["reproduce"]


def test_verify_text(program):
    done = program("verify", *SIZES, "--type", "f32", "--fill", "normal")
    assert "0 wrong" in done.stdout
    done = program("verify", "--m", 5, "--n", 6, "--k", 7, "--type", "cf32", "--fill", "normal", "--alpha", "1,2",
                   "--layout-b", "1,7,pointers", "--batch", "3", "--bias", "per_row")
    assert "0 wrong" in done.stdout


def test_the_ladder_measures_errors_by_what_was_added_up(program):
    """Among a million elements some cancel, and their relative error says nothing: theory bounds error/u by K + 3."""
    for row in program.json("ladder", 300, 100, 300, "--backend", "cpu")["results"]:
        assert 0 < row["error_in_u"] <= 103 and 0 < row["norm_error"] < 103 * 2.0**-24, row["kernel"]
    heading = program("ladder", 30, 40, 50, "--kernel", "cpu_naive").stdout
    assert "error/u" in heading and "norm" in heading and "x bound" in heading


def test_estimates_are_ranks(program):
    """What an estimate says is how kernels stand to each other, not how long they take."""
    lines = [line for line in program("explain", "--m", 500, "--n", 500, "--k", 500).stdout.splitlines()
             if "estimate" in line]
    assert any("first by estimate" in line for line in lines)
    assert any("times as long" in line for line in lines)
    assert not any(unit in line for line in lines for unit in (" s", " ms", " us", " ns") if line.endswith(unit))


def test_bench_of_several_of_which_one_refuses(program):
    """The others are timed; that one was not is in the notes and in the exit status."""
    run = ("bench", *SIZES, "--type", "i32", "--kernel", "cpu_naive,avx2_f32_fma_direct", "--seconds", 0, "--runs", 1)
    if "avx2_f32_fma_direct" not in available_kernels(program, "f32"):
        pytest.skip("no AVX2")
    done = program(*run, code=2)
    assert "cpu_naive" in done.stdout and "avx2_f32_fma_direct" not in done.stdout
    assert "not run: kernel 'avx2_f32_fma_direct' cannot do this product" in done.stderr
    assert [row["kernel"] for row in program.json(*run, code=2)["results"]] == ["cpu_naive"]


def test_ladder_as_values_and_as_markdown(program):
    run = ("ladder", 30, 40, 50, "--backend", "cpu")
    rows = list(csv.DictReader(io.StringIO(program(*run, "--csv").stdout)))
    assert rows[0]["kernel"] == "cpu_naive" and float(rows[0]["speedup"]) == 1 and len(rows) > 1
    assert all(float(row["median_seconds"]) > 0 and row["passed"] == "true" and None not in row for row in rows)
    lines = program(*run, "--markdown").stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0].startswith("| kernel | time |") and table[1].startswith("|---|--:|") and "| cpu_naive |" in table[2]
    assert {line.count("|") for line in table} == {table[0].count("|")}
    program.refuses(*run, "--csv", "--json", code=2, says="expected one of them")
    program.refuses("ladder", "--sweep", "--csv", code=2, says="--sweep")


def doctors_findings(program, topic):
    return [finding for finding in program.json("doctor")["findings"] if finding["topic"] == topic]


def test_doctor(program, monkeypatch):
    document = program.json("doctor")
    assert document["schema"] == "exactile.doctor/1"
    topics = {finding["topic"] for finding in document["findings"]}
    assert {"exactile", "processors", "threads", "memory", "huge pages", "cpu", "cpu kernels", "cuda", "opencl",
            "tuning rows"} <= topics
    for finding in document["findings"]:
        assert finding["state"] in ("found", "limited", "missing") and finding["what"]
        assert (finding["state"] == "found") == (finding["why"] == ""), finding
    text = program("doctor").stdout
    assert all(topic in text for topic in topics) and "\x1b" not in text


@pytest.mark.parametrize("name,value,topic,why,advice", [
    ("EXACTILE_MAX_ISA", "portable", "cpu kernels", "EXACTILE_MAX_ISA", "unset EXACTILE_MAX_ISA"),
    ("EXACTILE_NUM_THREADS", "3", "threads", "EXACTILE_NUM_THREADS says so", "unset EXACTILE_NUM_THREADS"),
    ("EXACTILE_NUM_THREADS", "four", "environment", "is ignored; expected a number", "unset it"),
    ("EXACTILE_OPENCL_LIBRARY", "/nowhere/libOpenCL.so.1", "opencl", "no OpenCL loader", "EXACTILE_OPENCL_LIBRARY"),
    ("OCL_ICD_VENDORS", "/nowhere", "opencl", "no driver (ICD)", "pocl-opencl-icd"),
    ("EXACTILE_TUNING_DB", "/dev/null/rows.tsv", "tuning rows", "cannot be written", "EXACTILE_TUNING_DB"),
    ("EXACTILE_TUNING_DB", "none.tsv", "tuning rows", "nothing was measured here", "exactile tune")])
def test_doctor_says_why_and_what_to_do(program, monkeypatch, name, value, topic, why, advice):
    if value == "portable" and not any(kernel.startswith("avx") for kernel in available_kernels(program, "f32")):
        pytest.skip("no vectors to be without")
    monkeypatch.setenv(name, value)
    findings = doctors_findings(program, topic)
    assert any(f["state"] != "found" and why in f["why"] and advice in f["advice"] for f in findings), findings


def test_every_backend_that_is_missing_has_a_remedy(program):
    for finding in program.json("doctor")["findings"]:
        if finding["topic"] in ("cuda", "opencl") and finding["state"] == "missing":
            assert finding["advice"], finding
