# SPDX-License-Identifier: Apache-2.0
"""Pages stay short, and their lines too; README tells few numbers outside its tables."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
README = ROOT / "README.md"


def too_wide(text):
    return [line for line in text.splitlines() if len(line) > 120 and not line.lstrip().startswith("|")]


def numbers_in_100_words(text):
    """Of the prose: no tables, no code, no targets of links. 12 is a number, f32 and cuBLAS13 are names."""
    text = re.sub(r"```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.S)
    words = [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]
    return 100 * sum(bool(re.match(r"[^A-Za-z]*\d", word)) for word in words) / len(words)


@pytest.mark.parametrize("page", [README, *DOCS], ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_fit(page):
    assert not too_wide(page.read_text(encoding="utf-8"))


MEASURED = re.compile(r"\d ?([TG](FL)?OP/s|GB/s|ms|us|s)\b|\d\.\d+ x\b")


def typed_results(text):
    """Rows of tables with a time, a speed or a ratio that no mark says are generated."""
    text = re.sub(r"<!-- generated: .*?<!-- end -->", "", text, flags=re.S)
    return [line for line in text.splitlines() if line.lstrip().startswith("|") and MEASURED.search(line)]


@pytest.mark.parametrize(
    "page", [README, ROOT / "python" / "README.md", *DOCS], ids=lambda page: str(page.relative_to(ROOT))
)
def test_no_result_is_typed_into_a_table(page):
    assert not typed_results(page.read_text(encoding="utf-8"))


def test_pages_are_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120
    assert sum(len(page.read_text(encoding="utf-8").splitlines()) for page in DOCS) <= 2500


def test_readme_tells_few_numbers():
    assert numbers_in_100_words(README.read_text(encoding="utf-8")) <= 3


def test_the_rules_can_be_broken():
    assert too_wide("x" * 121) and not too_wide("| " + "x" * 121)
    row = "| f32 | 47.9 TFLOP/s | 0.86 x |"
    assert typed_results(row) and not typed_results(f"<!-- generated: table -->\n{row}\n<!-- end -->")
    assert numbers_in_100_words("4096^3 in 12 ms\n| 7 | 8 |\n```\n1 2 3\n```\n") == 50
