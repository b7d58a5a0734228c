# SPDX-License-Identifier: Apache-2.0
"""`exactile tune` on an OpenCL device and on the CPU: what it keeps, what survives a kill, what damaged files do."""
import os
import signal
import time

import numpy as np
import pytest

from conftest import Program

SEARCH = ("tune", "--shape-class", "small", "--backend", "cpu")  # quick: nothing is compiled


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """The program with caches of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EXACTILE_TUNING_DB", raising=False)
    return Program(tmp_path)


@pytest.fixture
def searcher(caches):
    """For searches of the CPU's cache blocks; skips where no kernel has any."""
    if blocked_kernel(caches) is None:
        pytest.skip("no kernel with cache blocks runs here")
    return caches


@pytest.fixture
def tuner(caches):
    """Skips where there is no OpenCL device."""
    program = caches
    devices = program.json("devices")["devices"]
    if not any(d["backend"] == "opencl" and d["available"] for d in devices):
        pytest.skip("no OpenCL device")
    return program


def blocked_kernel(program):
    """The name of the first CPU kernel for f32 with cache blocks that runs here."""
    return next((k["name"] for k in program.json("kernels")["kernels"]
                 if k["backend"] == "cpu" and "_f32_fma_" in k["name"] and k["name"][-1].isdigit() and k["available"]), None)


def rows(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def default_file(program):
    return program.folder / "cache" / "exactile" / "tuning.tsv"


def test_rows_are_kept_and_used(tuner):
    before = tuner("explain", "--m", 512, "--n", 512, "--k", 512, "--kernel", "opencl_packed").stdout
    assert "shipped for" in before
    done = tuner("tune", "--shape-class", "small", "--kernel", "opencl_packed", "--candidates", 2, "--time-limit", "60s")
    assert "opencl_packed" in done.stdout
    assert len(rows(default_file(tuner))) == 2
    after = tuner("explain", "--m", 512, "--n", 512, "--k", 512, "--kernel", "opencl_packed").stdout
    assert "tuned here, f32 small" in after
    tuner("verify", "--m", 130, "--n", 70, "--k", 50, "--kernel", "opencl_packed")


def test_a_killed_search_goes_on(searcher):
    running = searcher.start(*SEARCH, "--time-limit", "10m")
    deadline = time.monotonic() + 120
    while not default_file(searcher).exists() or len(rows(default_file(searcher))) < 2:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, "no two rows in two minutes"
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    kept = rows(default_file(searcher))
    done = searcher(*SEARCH, "--candidates", 1, "--time-limit", "60s")
    known = [int(word) for word in done.stdout.splitlines()[1].split() if word.isdigit()]
    assert len(kept) in known, done.stdout
    # The best ones may have been timed and filed again at the end, so rates and order may differ.
    parameters_of = lambda lines: [line.split("\t")[7] for line in lines]
    parameters = parameters_of(rows(default_file(searcher)))
    assert set(parameters_of(kept)) < set(parameters) and len(parameters) == len(kept) + 1
    assert len(set(parameters)) == len(parameters), "a candidate was tried twice"


def test_an_interrupted_search_leaves_whole_rows(searcher):
    running = searcher.start(*SEARCH, "--time-limit", "10m")
    deadline = time.monotonic() + 120
    while not default_file(searcher).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert f"interrupted; the rows found so far are kept in {default_file(searcher)}" in err
    assert "damaged" not in searcher(*SEARCH, "--candidates", 1, "--time-limit", "60s").stderr
    assert [p.name for p in default_file(searcher).parent.glob("*.tmp")] == []


def test_two_searches_at_once(searcher):
    both = [searcher.start(*SEARCH, "--candidates", 8, "--seed", seed) for seed in (1, 2)]
    for running in both:
        out, err = running.communicate(timeout=300)
        assert running.returncode == 0, out + err
    assert len(rows(default_file(searcher))) == 16


def test_the_time_limit_holds(searcher):
    begin = time.monotonic()
    searcher(*SEARCH, "--time-limit", "3s")
    assert time.monotonic() - begin < 30, "much longer than the limit and a candidate"


def test_a_search_without_time_is_no_success(searcher):
    done = searcher(*SEARCH, "--time-limit", "1e-9s", code=2)
    assert done.stdout == "" and "--time-limit 1e-9s: no candidate was tried" in done.stderr


def test_a_bad_place_is_met_before_the_search(searcher):
    """Whatever the time limit."""
    (searcher.folder / "foreign.tsv").write_text("something else")
    (searcher.folder / "file").touch()
    for place, says in (("foreign.tsv", "is a file of something else"), ("file/rows.tsv", "cannot be written"), (".", "is no file")):
        done = searcher(*SEARCH, "--db", place, "--time-limit", "1e-9s", code=2)
        assert says in done.stderr and "time limit" not in done.stderr, done.stderr
    for count in ("0", "-1"):
        assert f"--candidates {count}: expected 1 or more" in searcher(*SEARCH, "--candidates", count, code=2).stderr


def test_damaged_files_are_reported_and_do_no_harm(searcher):
    file = searcher.folder / "rows.tsv"
    searcher(*SEARCH, "--candidates", 2, "--db", file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    done = searcher(*SEARCH, "--candidates", 1, "--db", file)
    assert "1 lines" in done.stderr and "damaged" in done.stderr
    assert len(rows(file)) == 2  # one survived, one is new
    file.write_bytes(b"\x00\xff" * 500)
    searcher(*SEARCH, "--candidates", 1, "--db", file, code=2)
    assert file.read_bytes() == b"\x00\xff" * 500, "a foreign file is left as it is"


def test_damaged_programs_are_compiled_again(tuner):
    run = ("verify", "--m", 40, "--n", 30, "--k", 20, "--kernel", "opencl_tiled")
    tuner(*run)
    folder = tuner.folder / "cache" / "exactile" / "opencl"
    programs = sorted(folder.iterdir())
    assert programs
    for damage in (lambda b: b[:len(b) // 2], lambda b: b"", lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b"foreign"):
        for program in programs:
            program.write_bytes(damage(program.read_bytes()))
        tuner(*run)
        assert sorted(folder.iterdir()) == programs
    whole = {p: p.read_bytes() for p in programs}
    tuner(*run)
    assert {p: p.read_bytes() for p in programs} == whole, "written again although nothing was wrong"


def test_bad_usage(tuner):
    for arguments, says in ((("--time-limit", "soon"), "90s, 10m or 1h"), (("--shape-class", "round"), "thin, small"),
                            (("--kernel", "cpu_naive"), "nothing to tune"), (("--kernel", "no_such"), "not known"),
                            (("--kernel", "opencl_packed", "--device", 99), "no OpenCL device of that number")):
        done = tuner("tune", *arguments, "--candidates", 1, code=4 if "--device" in arguments else 2)
        assert says in done.stderr, done.stderr


def test_a_kernel_that_refuses_every_plan_says_why(tuner):
    """A shallow K is not opencl_deep's."""
    done = tuner("tune", "--kernel", "opencl_deep", "--shape-class", "thin", "--time-limit", "60s", code=2)
    assert "opencl_deep does no f32 products of class thin: K is a single chunk" in done.stderr
    assert "time limit" not in done.stderr and not done.stdout
    # Whatever the clock says, and where the kernel was not asked for by name.
    for arguments in (("--kernel", "opencl_deep", "--time-limit", "0.001s"), ("--type", "cf32", "--time-limit", "4s")):
        done = tuner("tune", *arguments, "--shape-class", "thin", code=2)
        assert "products of class thin: " in done.stderr and "time limit" not in done.stderr, done.stderr


def test_a_sweep_goes_on_where_the_plain_loop_refuses(searcher):
    """cpu_naive has no cache blocks."""
    sweep = ("ladder", "--sweep", "--max", "1e4", "--backend", "cpu", "--parameters", "MC=96 KC=256 NC=480")
    done = searcher(*sweep)
    assert [line.split()[:3] for line in done.stdout.splitlines() if line.startswith("1e")] == [["1e3", "10", "-"], ["1e4", "22", "-"]]
    assert "has no parameters" in done.stderr
    rows_of_json = searcher.json(*sweep)["results"]
    assert [row["m"] for row in rows_of_json] == [10, 22] and all(row["kernel"] != "cpu_naive" for row in rows_of_json)


def test_cache_blocks_of_the_cpu(searcher):
    """Searched like any other kernel's sizes, used by plans of the same number of threads, and never seen in the bits."""
    target = blocked_kernel(searcher)
    generator = np.random.default_rng(1)
    a, b = (generator.standard_normal(shape).astype(np.float32) for shape in ((310, 1500), (1500, 290)))
    before = searcher.multiply(a, b, "--kernel", target)
    searcher("tune", "--backend", "cpu", "--shape-class", "small", "--candidates", 4, "--time-limit", "60s")
    explain = ("explain", "--m", 310, "--n", 290, "--k", 1500, "--kernel", target)
    assert "tuned here, f32 small" in searcher(*explain).stdout
    assert "tuned here" not in searcher(*explain, "--threads", 99).stdout
    assert "tuned here" not in searcher("explain", "--m", 31, "--n", 29, "--k", 150, "--kernel", target).stdout
    assert np.array_equal(before, searcher.multiply(a, b, "--kernel", target))
    for blocks in ("MC=1 KC=1 NC=1", "MC=24 KC=1024 NC=96", "KC=4096"):
        assert "as asked for" in searcher(*explain, "--parameters", blocks).stdout
        assert np.array_equal(before, searcher.multiply(a, b, "--kernel", target, "--parameters", blocks))
        assert np.array_equal(before, searcher.multiply(np.asfortranarray(a), b, "--kernel", target, "--parameters", blocks))
    # What counts is what would be allocated: here a block of B as large as the product allows.
    large = ("explain", "--m", 9000, "--n", 9000, "--k", 9000, "--kernel", target, "--parameters")
    for blocks, says in (("KC=0", "must be positive"), ("NC=1048577", "at most 1048576"),
                         ("NC=1048576 KC=1048576", "at most 16777216 elements"),
                         ("FOO=3 MC=24 BAR=1", "unknown parameters: FOO, BAR; expected MC, KC and NC")):
        assert says in searcher(*large, blocks, code=2).stderr
    assert "as asked for" in searcher(*explain, "--parameters", "NC=1048576 KC=1048576").stdout


def test_costs_of_the_cpu(caches):
    """What was measured is judged, kept and read. A row rests on many products: a busy machine gets more time."""
    kept = default_file(caches)
    for seconds in (15, 45, 135):
        done = caches("tune", "--backend", "cpu", "--costs", "--time-limit", f"{seconds}s")
        assert "choice / fastest" in done.stdout
        teams = [row for row in rows(kept) if row.startswith("team\t")]  # none where there is one thread
        rates = [row for row in rows(kept) if row not in teams]
        if rates:
            break
    assert rates and all("near=" in row and "overlap=" in row for row in rates)
    threads = caches.json("explain", "--m", 2000, "--n", 2000, "--k", 2000, "--backend", "cpu")["threads"]
    assert len(teams) == (1 if threads > 1 else 0)
    assert all("start=" in row and "wake=" in row for row in teams)
    caches("verify", "--m", 31, "--n", 29, "--k", 150, "--backend", "cpu")


def test_asked_for_parameters(tuner):
    legal = "MWG=8 NWG=16 KWG=16 MDIMC=1 NDIMC=1 VWM=2 VWN=4 KWI=2 SA=0 SB=0"
    run = ("verify", "--m", 40, "--n", 30, "--k", 20, "--kernel", "opencl_packed", "--parameters")
    tuner(*run, legal)
    group = next(d["properties"]["largest work-group"] for d in tuner.json("devices")["devices"] if d["backend"] == "opencl")
    for illegal, says in ((legal.replace("MWG=8", "MWG=7"), "MWG must be a multiple"), ("MWG", "NAME=NUMBER"),
                          ("MWG=1024 NWG=1024 KWG=16 MDIMC=1024 NDIMC=1024 VWM=1 VWN=1 KWI=1 SA=0 SB=0",
                           f"more than the device allows in a group: {group} work-items"),
                          (legal.replace("KWI=2", "KWI=3"), "KWG must be a multiple"),
                          (legal.replace("VWN=4", "VWN=5"), "1, 2, 4, 8 or 16")):
        assert says in tuner("explain", *run[1:], illegal, code=2).stderr
    assert "has no parameters" in tuner("explain", "--m", 4, "--n", 4, "--k", 4, "--kernel", "cpu_naive",
                                        "--parameters", legal, code=2).stderr


def test_measured_planning(searcher):
    """Measured once, said, kept, and found again by plans that only estimate; other products are not touched."""
    product = ("explain", "--m", 200, "--n", 180, "--k", 160, "--type", "f64")

    def reason(*planning, threads=1):
        return next(c for c in searcher.json(*product, "--threads", threads, *planning)["candidates"] if c["chosen"])["reason"]

    assert reason() == "first by estimate"
    assert reason("--planning", "measured").startswith("measured: ")
    for planning in ((), ("--planning", "measured")):
        assert reason(*planning).startswith("measured here before: ")
    assert reason("--planning", "formula") == "first by estimate"
    assert reason(threads=2) == "first by estimate"
    assert "there are formula, estimate, measured" in searcher(*product, "--planning", "guess", code=2).stderr
    a, b = np.ones((200, 160)), np.ones((160, 180))
    assert np.array_equal(searcher.multiply(a, b), searcher.multiply(a, b, "--planning", "measured"))
