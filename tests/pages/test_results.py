# SPDX-License-Identifier: Apache-2.0
"""The files of results/ keep to their schema and agree with themselves, and what pages take from them is fresh."""

import copy
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "pages"
sys.path.insert(0, str(TOOLS))

import generate  # noqa: E402
import results  # noqa: E402

VALIDATOR = jsonschema.Draft202012Validator(json.loads(results.SCHEMA.read_text(encoding="utf-8")))
FILES = pytest.mark.parametrize("file", results.files(), ids=lambda file: file.stem)
RUNS = pytest.mark.parametrize("run", [
    pytest.param(run, id=f"{file.stem}: {run['family']}") for file, run in results.runs()])


def test_schema_is_one():
    VALIDATOR.check_schema(VALIDATOR.schema)


def problems(data):
    return [f"{'/'.join(map(str, one.absolute_path))}: {one.message}" for one in VALIDATOR.iter_errors(data)]


@FILES
def test_file_keeps_to_the_schema(file):
    assert not problems(results.read(file))


@FILES
def test_file_is_of_one_device_and_each_family_once(file):
    runs = results.read(file)["runs"]
    assert len({(run["device"]["name"], run["device"]["kind"]) for run in runs}) == 1
    assert len({run["family"] for run in runs}) == len(runs)


def test_every_role_has_its_run():
    for role in results.ROLES:
        assert results.load(role)["results"], role


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("command"),
        lambda data: data.pop("commit"),
        lambda data: data["software"].pop("driver"),
        lambda data: data["contenders"].pop("exactile"),
        lambda data: data["results"][0].pop("m"),
        lambda data: data["results"][0].pop("rival"),
        lambda data: data["results"][0]["gflops"].update(exactile=0),
        lambda data: data["results"][0].update(tflops=1),
        lambda data: data["results"].clear(),
        lambda data: data.update(date="yesterday"),
        lambda data: data["provenance"].update(kind="guessed"),
    ],
)
def test_schema_refuses(change):
    data = copy.deepcopy(results.load("gpu_square"))
    assert not problems(data)
    change(data)
    assert problems(data) and problems({"schema": "exactile.runs/1", "release": "0.1.0", "runs": [data]})


def test_a_run_is_kept_in_the_place_of_the_one_before(tmp_path):
    old, new = (copy.deepcopy(results.load("gpu_square")) for _ in "ab")
    new |= {"command": "exactile bench -o /some/where/new.json", "date": "2030-01-31"}
    kept = tmp_path / "kept.json"
    for name, runs in (("old", [old, old | {"family": "another"}]), ("new", [new])):
        paths = [tmp_path / f"{name}{number}.json" for number in range(len(runs))]
        for path, run in zip(paths, runs):
            path.write_text(json.dumps(run), encoding="utf-8")
        subprocess.run([sys.executable, TOOLS / "keep.py", kept, *paths], check=True)
    assert results.read(kept)["runs"] == [new | {"command": "exactile bench -o new.json"}, old | {"family": "another"}]
    assert not problems(results.read(kept))


@RUNS
def test_ratio_agrees_with_the_speeds(run):
    """A ratio is a median of pairs, speeds are rounded medians: they agree within a tenth, or one was mistyped."""
    for row in run["results"]:
        rivals = [speed for contender, speed in row.get("gflops", {}).items() if contender != "exactile"]
        if "ratio" in row and rivals and "rounds" not in row:
            assert row["gflops"]["exactile"] / max(rivals) == pytest.approx(row["ratio"], rel=0.1), results.shape(row)


@RUNS
def test_no_product_twice(run):
    keys = ("type", "m", "n", "k", "batch", "threads", "kernel", "accuracy", "fill", "layout", "memory", "a", "b", "step")
    seen = [tuple(row.get(key) for key in keys) for row in run["results"]]
    assert len(seen) == len(set(seen))


def test_pages_and_pictures_are_fresh():
    done = subprocess.run([sys.executable, generate.__file__, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_page_is_noticed():
    page = ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    assert generate.filled(text) == text
    typed = re.sub(r"(\| \d\.\d)(\d \|)", r"\g<1>0\g<2>", text, count=1)
    assert typed != text and generate.filled(typed) == text


def test_every_mark_has_its_end_and_its_table():
    for page in generate.pages():
        text = page.read_text(encoding="utf-8")
        opened = text.count("<!-- generated: ")
        assert opened == text.count("<!-- end -->") == len(generate.MARKED.findall(text)), page


def test_regret_becomes_a_run(tmp_path):
    kernel = {"type": "f32", "product": 3, "m": 8, "n": 64, "k": 32, "a_transposed": False, "b_transposed": True,
              "kernel": "one", "parameters": "", "chosen": True, "seconds": 3e-6, "again": 3e-6}
    other = kernel | {"kernel": "other", "parameters": "BM=64", "chosen": False, "again": 2e-6}
    slow = {name: value for name, value in other.items() if name != "again"}
    header = {"backend": "cuda", "seed": 7, "m": "1:8", "n": "64:64", "k": "32:32", "most_terms": 1e9, "planning": "estimate"}
    summary = {"type": "f32", "products": 1, "mean": 1.5, "worst": 1.5, "share_above_1.1": 1.0, "worst_products": []}
    (tmp_path / "regret.json").write_text(json.dumps(header | {"types": [summary]}), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, (header, kernel, slow, other))), encoding="utf-8")
    (tmp_path / "beside.json").write_text(json.dumps(results.load("gpu_square")), encoding="utf-8")
    files = [tmp_path / name for name in ("regret.json", "rows.jsonl", "beside.json")]
    made = subprocess.run([sys.executable, TOOLS / "choices.py", *files], check=True, capture_output=True, text=True)
    run = json.loads(made.stdout)
    assert not problems(run) and run["summary"]["f32"]["mean"] == 1.5
    [row] = run["results"]
    assert (row["choice"], row["fastest"], row["b"]) == ("one", "other BM=64", "t")
    assert (row["choice_us"], row["fastest_us"]) == (3.0, 2.0)


def test_what_the_rows_program_judged_becomes_a_run(tmp_path):
    row = {"type": "bf16", "m": 8, "n": 64, "k": 32, "a": "n", "b": "t", "choice": "one BM=64", "choice_us": 3.0,
           "fastest": "other", "fastest_us": 2.0}
    alike = row | {"choice_us": 2.0}
    (tmp_path / "products.jsonl").write_text("\n".join(map(json.dumps, (row, alike))), encoding="utf-8")
    (tmp_path / "beside.json").write_text(json.dumps(results.load("gpu_square")), encoding="utf-8")
    files = [tmp_path / name for name in ("products.jsonl", "beside.json")]
    made = subprocess.run([sys.executable, TOOLS / "choices.py", "7", "40", *files], check=True, capture_output=True,
                          text=True)
    run = json.loads(made.stdout)
    assert not problems(run) and run["results"] == [row, alike]
    assert run["summary"]["bf16"] == {"products": 2, "mean": 1.2247, "worst": 1.5, "share_above_1.1": 0.5}
