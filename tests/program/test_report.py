# SPDX-License-Identifier: Apache-2.0
"""`report`: one page from files of results. What it looks like in a browser is in test_browser.py."""
import json
import pathlib
import re
import time

import pytest
import results


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


@pytest.fixture
def report(program):
    results.save(program.folder / "in.json", results.document())

    def run(*files, **options):
        done = program("report", *files, "-o", "out.html", **options)
        return (program.folder / "out.html").read_text(), done
    if "no plotting library" in program.start("report", "in.json", "-o", "out.html").communicate()[1]:
        pytest.skip("this build has no plotting library")
    return run


def test_a_page_that_needs_nothing_else(program, report):
    page, _ = report("in.json")
    assert len(page) < 6e6 and page.startswith("<!DOCTYPE html>") and not (program.folder / "out.html.part").exists()
    assert "plotly.js v" in page and "@" + "data@" not in page
    assert not re.search(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(?!data:)", page)
    assert "default-src 'none'" in page
    data = data_of(page)
    assert [run["device"] for run in data["runs"]] == ["AMD Zen 4"] and data["runs"][0]["ceilings"]["gflops"] == {"f32": 150}
    document = results.document()
    assert len(data["products"]) == len(document["results"])
    assert len(data["rows"]) == sum(len(row["gflops"]) for row in document["results"])
    first = dict(zip(data["row_columns"], data["rows"][0]))
    assert first["gflops"] == pytest.approx(document["results"][0]["gflops"]["exactile"], rel=1e-4)


def test_what_the_program_itself_writes(program, report):
    (program.folder / "s.txt").write_text("16x16x16\n")
    program("bench", "--suite", "s.txt", "--seconds", "0.001", "-o", "suite.json")
    for name, command in [("bench", ("bench", "--m", 9, "--n", 9, "--k", 9, "--seconds", "0.01")), ("ladder", ("ladder", 9, 9, 9))]:
        (program.folder / f"{name}.json").write_text(program(*command, "--json").stdout)
    page, _ = report("suite.json", "bench.json", "ladder.json")
    data = data_of(page)
    assert len(data["runs"]) == 3 and len({run["device"] for run in data["runs"]}) == 1
    assert {"cpu_naive", "portable_blocked", "exactile"} <= set(data["words"])


def test_the_planners_choices(program, report):
    document = results.document()
    document |= {"schema": "exactile.choice/1", "results": [
        {"type": "bf16", "m": 8, "n": 64, "k": 32, "a": "n", "b": "t", "choice": "x BM=1", "choice_us": 4.0, "fastest": "y",
         "fastest_us": 2.0}]}
    results.save(program.folder / "choice.json", document)
    data = data_of(report("choice.json")[0])
    assert len(data["rows"]) == 2 and "B by columns" in data["words"]
    assert dict(zip(data["row_columns"], data["rows"][0]))["ratio"] == 0.5


def test_five_thousand_results(program, report):
    results.save(program.folder / "many.json", results.document(extra=4991))
    begin = time.monotonic()
    page, _ = report("many.json")
    assert time.monotonic() - begin < 5 and len(page.encode()) < 6e6
    assert len(data_of(page)["products"]) == 5000


def runs_of(*runs):
    return {"schema": "exactile.runs/1", "release": "0.1.0", "runs": runs}


def test_a_file_of_several_runs(program, report):
    one, other = results.document(), results.document(device="AMD Zen 5", seed=2)
    training = {"schema": "exactile.training/1", "results": []}
    results.save(program.folder / "runs.json", runs_of(one, training, other))
    page, done = report("runs.json")
    assert [run["device"] for run in data_of(page)["runs"]] == ["AMD Zen 4", "AMD Zen 5"]
    assert len(data_of(page)["products"]) == len(one["results"]) + len(other["results"])
    assert "runs.json, run 2: times no products" in done.stderr


def test_what_the_repository_holds(program, report):
    folder = pathlib.Path(__file__).parents[2] / "results"
    files = [file for file in folder.glob("*.json") if file.name != "schema.json"]
    data = data_of(report(*files)[0])
    held = [run for file in files for run in json.loads(file.read_text())["runs"] if "training" not in run["schema"]]
    assert len(data["runs"]) == len(held) and len(data["products"]) == sum(len(run["results"]) for run in held)


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\x1b[31m"


def test_hostile_texts_are_data(program, report):
    document = results.document(device=HOSTILE, rivals=(HOSTILE + "r",))
    document |= {"family": HOSTILE, "operands": HOSTILE, "commit": HOSTILE, "contenders": {HOSTILE: HOSTILE}}
    document["results"][0] |= {"kernel": HOSTILE, "layout": HOSTILE}
    results.save(program.folder / "hostile.json", document)
    page, _ = report("hostile.json", "--title", "<b>&\"" + HOSTILE)
    assert "<script>alert" not in page and "<img src=x" not in page and "<title>&lt;b&gt;&amp;&quot;" in page
    assert data_of(page)["runs"][0]["device"] == HOSTILE


def test_what_lies_among_results_without_products_is_left_out(program, report):
    (program.folder / "schema.json").write_text('{"$schema": "https://json-schema.org/draft/2020-12/schema"}')
    (program.folder / "training.json").write_text('{"schema": "exactile.training/1", "results": []}')
    page, done = report("in.json", "schema.json", "training.json")
    assert "schema.json: is a JSON schema" in done.stderr and "training.json: times no products" in done.stderr
    assert len(data_of(page)["runs"]) == 1


@pytest.mark.parametrize("change,says", [
    ({"schema": "exactile.results/99"}, "its schema is exactile.results/99; expected exactile.results/1"),
    ({"schema": None}, "schema: expected a text"), ({"results": {}}, "results: expected a list"),
    ({"results": [3]}, "result 1: expected an object"), ({"results": [{"type": "f32"}]}, "result 1: m: expected a whole"),
    ({"results": [{"type": "f33", "m": 1, "n": 1, "k": 1}]}, "result 1: type: f33: is not known"),
    ({"results": [{"type": "f32", "m": 1.5, "n": 1, "k": 1}]}, "m: expected a whole number of at least 1"),
    ({"results": [{"type": "f32", "m": 1, "n": 1, "k": 1, "gflops": 7}]}, "gflops: expected an object"),
    ({"results": [{"type": "f32", "m": 1, "n": 1, "k": 1, "gflops": {"x": "fast"}}]}, "x: expected a number of 0 or more"),
    ({"results": [{"type": "f32", "m": 1, "n": 1, "k": 1, "gflops": {"x": -1}}]}, "x: expected a number of 0 or more"),
    ({"software": "GCC"}, "software: expected an object of texts"),
    (runs_of(3), "bad.json, run 1: names no schema"), (runs_of({"schema": "exactile.results/99"}), "run 1: its schema is"),
    (runs_of(results.document() | {"results": [3]}), "bad.json, run 1, result 1: expected an object"),
    ({"schema": "exactile.runs/1", "runs": 7}, "runs: expected a list")])
def test_what_is_no_result_is_refused(program, report, change, says):
    results.save(program.folder / "bad.json", results.document() | change)
    program.refuses("report", "in.json", "bad.json", "-o", "page.html", code=3, says=["bad.json", says])


@pytest.mark.parametrize("text,says", [
    ("", "is no JSON at byte"), ("{", "is no JSON at byte"), ("[1, 2", "is no JSON"), ("not JSON", "is no JSON at byte"),
    ("[]", "names no schema"), ("3", "names no schema"), ("[" * 100000, "is nested more than 32 deep"),
    ('{"schema": "exactile.results/1", "results": [1e999]}', "is no JSON"), ("\x00\xff", "is no JSON")], ids=range(9))
def test_what_is_no_json_is_refused(program, report, text, says):
    (program.folder / "bad.json").write_bytes(text.encode("latin-1"))
    program.refuses("report", "bad.json", "-o", "page.html", code=3, says=["bad.json", says])


def test_a_file_of_a_hundred_megabytes_is_refused_at_once(program, report):
    (program.folder / "large.json").write_text("[" + "1," * 50_000_000)
    begin = time.monotonic()
    program.refuses("report", "large.json", "-o", "page.html", code=3, says="is larger than")
    assert time.monotonic() - begin < 5


def test_usage(program, report):
    program.refuses("report", "none.json", "-o", "page.html", code=3, says="none.json: cannot be read")
    program.refuses("report", ".", "-o", "page.html", code=3, says="is a folder")
    program.refuses("report", "in.json", code=2, says="--output is required")
    program.refuses("report", "in.json", "-o", "none/page.html", code=4, says="cannot be written")
