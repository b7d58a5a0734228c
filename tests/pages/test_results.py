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
sys.path.insert(0, str(ROOT / "tools" / "pages"))

import generate  # noqa: E402
import results  # noqa: E402

VALIDATOR = jsonschema.Draft202012Validator(json.loads(results.SCHEMA.read_text(encoding="utf-8")))
NAMES = [path.stem for path in results.files()]


def test_schema_is_one():
    VALIDATOR.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("name", NAMES)
def test_file_keeps_to_the_schema(name):
    problems = [
        f"{'/'.join(map(str, one.absolute_path))}: {one.message}" for one in VALIDATOR.iter_errors(results.load(name))
    ]
    assert not problems


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
    data = copy.deepcopy(results.load("gpu_f32"))
    change(data)
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("name", NAMES)
def test_ratio_agrees_with_the_speeds(name):
    """A ratio is a median of pairs, speeds are rounded medians: they agree within a tenth, or one was mistyped."""
    for row in results.load(name)["results"]:
        rivals = [speed for contender, speed in row.get("gflops", {}).items() if contender != "exactile"]
        if "ratio" in row and rivals and "rounds" not in row:
            assert row["gflops"]["exactile"] / max(rivals) == pytest.approx(row["ratio"], rel=0.1), results.shape(row)


@pytest.mark.parametrize("name", NAMES)
def test_no_product_twice(name):
    keys = ("type", "m", "n", "k", "batch", "threads", "kernel", "accuracy", "fill", "layout", "memory", "a", "b", "step")
    seen = [tuple(row.get(key) for key in keys) for row in results.load(name)["results"]]
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
