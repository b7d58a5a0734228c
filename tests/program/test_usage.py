# SPDX-License-Identifier: Apache-2.0
"""Help, versions, and arguments that are wrong."""
import numpy as np
import pytest

COMMANDS = ["multiply", "ladder", "bench", "verify", "explain", "kernels", "devices"]
SIZES = ["--m", "3", "--n", "4", "--k", "5"]


def test_help(program):
    text = program("--help").stdout
    assert all(command in text for command in COMMANDS)
    status = "Exit status: 0 done, 1 a check failed, 2 bad usage, 3 bad input file, 4 device or memory trouble"
    assert status in " ".join(text.split())
    for command in COMMANDS:
        assert "--json" in program(command, "--help").stdout


def test_version(program):
    assert program("--version").stdout.startswith("exactile 0.")


@pytest.mark.parametrize("arguments,says", [
    ([], "the command is missing"), (["frobnicate"], "frobnicate: is no command"), (["--frobnicate"], "--frobnicate"),
    (["multiply"], "A is required"), (["multiply", "a.npy"], "B is required"),
    (["multiply", "a.npy", "b.npy"], "--output is required"), (["multiply", "a", "b", "-o", "c", "d"], "d"),
    (["multiply", "a", "b", "-o"], "-o"), (["explain", "--m", "3"], "--n is required"),
    (["explain", *SIZES, "--frobnicate"], "--frobnicate"),
    (["explain", "--m", "x", "--n", "4", "--k", "5"], "--m x: is not a whole number"),
    (["explain", "--m", "3.5", "--n", "4", "--k", "5"], "--m 3.5: is not a whole number"),
    (["explain", "--m", "99999999999999999999", "--n", "4", "--k", "5"], "--m 99999999999999999999: does not fit"),
    (["explain", "--m", "-3", "--n", "4", "--k", "5"], "m = -3"),
    (["explain", *SIZES, "--batch", "-1"], "batch = -1"),
    (["explain", "--m", "4294967296", "--n", "4294967296", "--k", "1"], "m * n = 4294967296 * 4294967296"),
    (["explain", *SIZES, "--type", "f31"], "--type f31: is not known; there are f64, f32"),
    (["explain", *SIZES, "--kernel", "none"], "--kernel none: is not known (`exactile kernels`"),
    (["explain", *SIZES, "--backend", "none"], "--backend none: is not known; there are automatic, cpu"),
    (["explain", *SIZES, "--threads", "-1"], "--threads -1"), (["explain", *SIZES, "--threads", "1e3"], "--threads 1e3"),
    (["ladder"], "M N K are missing"), (["ladder", "3"], "N K are missing"),
    (["ladder", "3", "4"], "K is missing"),
    (["ladder", "-3", "4", "5"], "m = -3"), (["ladder", "3", "4", "5", "6"], "6"), (["ladder", "3", "x", "5"], "N x"),
    (["ladder", "3", "4", "5", "--type", "f31"], "there are f64, f32"),
    (["ladder", "3", "4", "5", "--fill", "none"], "there are normal, uniform"),
    (["ladder", "3", "4", "5", "--kernel", "none"], "--kernel none"),
    (["ladder", "4294967296", "4294967296", "4294967296"], "does not fit in 64 bits"),
    (["ladder", "--sweep", "3", "4", "5"], "--sweep"), (["ladder", "--sweep", "--max", "10"], "--max 10"),
    (["ladder", "--sweep", "--max", "nan"], "--max nan"), (["ladder", "3", "4", "5", "--max", "1e4"], "--sweep"),
    (["ladder", "3", "5", "0"], "k = 0: there is nothing to time"), (["bench", *SIZES, "--batch", "0"], "batch = 0"),
    (["bench", *SIZES, "--rotate", "maybe"], "--rotate maybe"), (["bench", *SIZES, "--runs", "0"], "--runs 0"),
    (["bench", *SIZES, "--prepared", "c"], "--prepared c"), (["bench", *SIZES, "--prepared", "aa"], "--prepared aa"),
    (["bench", *SIZES, "--seconds", "-1"], "--seconds -1"),
    (["bench", *SIZES, "--seconds", "inf"], "--seconds inf"), (["bench", *SIZES, "--seconds", "nan"], "--seconds nan"),
    (["bench", *SIZES, "--kernel", "none"], "--kernel none"),
    (["bench", *SIZES, "--kernel", "all,cpu_naive"], "--kernel all takes every kernel"),
    (["bench", "--m", "3037000500", "--n", "3037000500", "--k", "3037000500", "--batch", "100"], "64 bits"),
    (["verify", "--m", "3"], "--m"), (["verify", *SIZES, "--seed", "-1"], "--seed -1"),
    (["verify", *SIZES, "--layout-a", "3"], "--layout-a 3"), (["verify", *SIZES, "--fill", "none"], "--fill none"),
    (["verify", *SIZES, "--bias", "none_such"], "--bias none_such"),
    (["verify", *SIZES, "--type", "i32", "--alpha", "0.5"], "--alpha 0.5"),
    (["verify", *SIZES, "--type", "f32", "--alpha", "1+2j"], "--alpha 1+2j: is complex"),
    (["verify", *SIZES, "--type", "f32", "--alpha", "two"], "--alpha two: is not a number"),
    (["explain", *SIZES, "--device", "1"], "device = 1: expected the backend"),
    (["explain", *SIZES, "--device", "1", "--backend", "cpu"], "device = 1: cpu computes on the processor"),
    (["explain", *SIZES, "--device", "1", "--kernel", "cpu_naive"], "device = 1: cpu_naive computes on the processor"),
    (["bench", *SIZES, "--device", "1", "--backend", "cpu"], "device = 1: cpu computes on the processor"),
    (["verify", *SIZES, "--device", "1"], "device = 1: expected the backend"),
    (["bench", *SIZES, "--kernel", "all", "--device", "1"], "device = 1: expected the backend"),
    (["verify", *SIZES, "--device", "1", "--backend", "cpu"], "computes on the processor, which is device 0"),
    (["tune", "--device", "1", "--backend", "cpu"], "computes on the processor, which is device 0"),
    (["tune", "--device", "4294967296", "--backend", "cpu"], "--device 4294967296: expected 0 to"),
    (["explain", *SIZES, "--parameters", "="], "parameters = =: expected the form"),
    (["explain", *SIZES, "--parameters", "XX=1"], ["with parameters 'XX=1': ", "unknown parameters: XX"]),
    (["verify", *SIZES, "--type", "f32", "--alpha", "1e400"], "--alpha 1e400: is not a number that f32 holds"),
    (["verify", *SIZES, "--type", "f64", "--alpha", "1e400"], "--alpha 1e400: is not a number that f64 holds"),
    (["verify", *SIZES, "--type", "bf16", "--alpha", "1e39"], "--alpha 1e39: is not a number that f32 holds"),
    (["verify", *SIZES, "--type", "f32", "--alpha", "3.41e38"], "--alpha 3.41e38: is not a number that f32 holds"),
    (["verify", *SIZES, "--type", "f32", "--beta", "7e-46"], "--beta 7e-46: is not a number that f32 holds"),
    (["verify", *SIZES, "--type", "cf32", "--alpha", "1-1e39j"], "--alpha 1-1e39j: is not a number that f32 holds"),
    (["tune", "--backend", "none"], "--backend none: is not known; there are automatic, cpu"),
    (["kernels", "--backend", "none"], "--backend none"), (["kernels", "extra"], "extra"),
], ids=" ".join)
def test_bad_usage(program, arguments, says):
    program.refuses(*arguments, code=2, says=says)


@pytest.mark.parametrize("setting,value,expected", [
    ("EXACTILE_MAX_ISA", "AVX2", "portable, avx2, avx512"), ("EXACTILE_NUM_THREADS", "0", "from 1 to"),
    ("EXACTILE_NUM_THREADS", "four", "from 1 to"), ("EXACTILE_NUM_THREADS", "65537", "to 65536")])
def test_settings_that_are_ignored_are_said(program, monkeypatch, setting, value, expected):
    monkeypatch.setenv(setting, value)
    done = program("explain", *SIZES)
    assert all(words in done.stderr for words in (setting, value, "ignored", expected))
    monkeypatch.setenv(setting, {"EXACTILE_MAX_ISA": "avx2", "EXACTILE_NUM_THREADS": "3,2"}[setting])
    assert program("explain", *SIZES).stderr == ""


def test_explain_has_few_lines(program):
    text = program("explain", *SIZES).stdout
    assert max(map(len, text.splitlines())) <= 120 and len(text.splitlines()) < 60
    groups = {}
    for one in program.json("explain", *SIZES)["candidates"]:
        groups.setdefault((one["backend"], one["supported"], one["reason"]), []).append(one["kernel"])
    assert any(len(kernels) > 12 for kernels in groups.values())
    for (backend, supported, reason), kernels in groups.items():
        lines = [line for line in text.splitlines()
                 if line[4:6] in ("- ", "* ", "x ") and line[6:].startswith(tuple(f"{kernel} " for kernel in kernels))]
        paragraph = f"    x {len(kernels)} of {backend}: {reason}"
        assert (paragraph in text and not lines) if not supported and len(kernels) > 2 else len(lines) == len(kernels)
        assert len(kernels) > 12 or all(kernel in text for kernel in kernels)


@pytest.mark.parametrize("command", [["ladder", 3, 4, 5], ["ladder", "--sweep", "--max", "1e3"]])
def test_a_device_counts_for_the_kernels_that_have_one(program, command):
    """Where kernels of several backends are walked, the processor's run whatever --device says."""
    assert "cpu_naive" in program(*command, "--device", 1).stdout


def test_a_backend_without_a_device_is_the_machines_trouble(program):
    """Whether it has no driver here or was left out of this build."""
    devices = program.json("devices")["devices"]
    unusable = {device["backend"]: device["reason"] for device in devices}
    for device in devices:
        if device["available"]:
            unusable.pop(device["backend"], None)
    if not unusable:
        pytest.skip("every backend has a device")
    for backend, reason in unusable.items():
        for more in ([], ["--device", "1"]):
            program.refuses("explain", *SIZES, "--backend", backend, *more, code=4, says=[backend, reason])
        program.refuses("ladder", "--sweep", "--max", "1e3", "--backend", backend, "--json", code=4,
                        says=[backend, reason])


@pytest.mark.parametrize("arguments,says", [
    (["--type", "f64", "--kernel", "sm80_bf16_mma"], "does not multiply these types"),
    (["--type", "f64", "--kernel", "avx2_f32_fma_direct"], "does not multiply these types"),
    (["--type", "f32", "--backend", "opencl", "--kernel", "cpu_naive"], "is not known to backend 'opencl'"),
    (["--type", "f32", "--backend", "cpu", "--kernel", "opencl_tiled"], "is not known to backend 'cpu'")], ids=" ".join)
def test_all_commands_refuse_alike(program, arguments, says):
    kernels = program.json("kernels")["kernels"]
    known = {kernel["name"] for kernel in kernels} | {kernel["backend"] for kernel in kernels}
    if not set(arguments[3::2]) <= known:
        pytest.skip("left out of this build")
    commands = [[command, *SIZES] for command in ("explain", "verify", "bench")]
    commands += [["ladder", "3", "5", "4"], ["ladder", "--sweep", "--max", "1e3"]]
    assert len({program.refuses(*command, *arguments, code=2, says=says).stderr for command in commands}) == 1


@pytest.mark.parametrize("factor", ["3.4028235e38", "-3.4028235e38", "1e-45", "inf"])
def test_numbers_that_round_to_a_float(program, factor):
    """So are the largest and the smallest float printed."""
    program("verify", *SIZES, "--type", "f32", "--fill", "normal", "--kernel", "cpu_naive", f"--alpha={factor}")


def test_more_memory_than_there_is(program):
    program.refuses("ladder", "1000000", "1000000", "1000000", code=4, says=["12.0 TB", "available"])
    program.refuses("bench", "--m", "1000000", "--n", "1000000", "--k", "8", code=4, says="available")


def test_the_nearest_names_are_said_and_no_more(program):
    done = program.refuses("explain", *SIZES, "--kernel", "cpu_niave", code=2, says="near it: cpu_naive")
    assert len(done.stderr) < 400
    done = program.refuses("explain", *SIZES, "--kernel", "x" * 100000, code=2, says="x...: is not known")
    assert len(done.stderr) < 400


def test_bad_parameters_are_not_blamed_on_kernels_without_any(program):
    done = program.refuses("explain", *SIZES, "--parameters", "XX=1", code=2,
                           says="with parameters 'XX=1': unknown parameters: XX; expected MC, KC and NC")
    assert "has no parameters" not in done.stderr and "which this processor does not offer" not in done.stderr


@pytest.mark.parametrize("name,shown", [("\x1b[31mred.npy", "\\x1b[31mred.npy"), ("\u009b31m.npy", "\\xc2\\x9b31m.npy"),
                                        ("a\rb.npy", "a\\x0db.npy")])
def test_control_characters_in_names_do_not_reach_the_terminal(program, name, shown):
    assert shown in program.refuses("multiply", name, name, "-o", "c.npy", code=3, says=shown).stderr
    np.save(program.folder / name, np.ones((2, 2), "f4"))
    assert shown in program("multiply", name, name, "-o", "c.npy").stdout
