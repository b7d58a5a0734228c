#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what pages take from results/: the tables between their marks, and the pictures.

    tools/pages/generate.py            rewrites what is stale
    tools/pages/generate.py --check    names what is stale; exit status 1 if something is

What is generated stands in a page between `<!-- generated: FUNCTION ARGUMENTS -->` and `<!-- end -->`; FUNCTION is one
of tables.py or sentences.py. A picture carries the fingerprint of what it was drawn from, so that a check needs no
plotting library.
"""

import hashlib
import pathlib
import re
import sys

import sentences
import tables
from results import ROOT, files

PICTURES = ROOT / "docs" / "pictures"
MARKED = re.compile(r"(<!-- generated: (\w+)((?: [\w.>:-]+)*) -->\n).*?(<!-- end -->)", flags=re.S)


def pages():
    return [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text):
    def fill(match):
        function = getattr(tables, match[2], None) or getattr(sentences, match[2])
        return f"{match[1]}{function(*match[3].split())}\n{match[4]}"

    return MARKED.sub(fill, text)


def fingerprint():
    """Of all results and of the code that draws them."""
    here = pathlib.Path(__file__).parent
    digest = hashlib.sha256()
    for path in [*(here / f"{name}.py" for name in ("plots", "results", "sentences", "tables")), *files()]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def stale_pages():
    return [page for page in pages() if filled(page.read_text(encoding="utf-8")) != page.read_text(encoding="utf-8")]


def stale_pictures():
    mark = f"drawn from {fingerprint()}"
    return [picture for picture in sorted(PICTURES.glob("*.svg")) if mark not in picture.read_text(encoding="utf-8")]


def main():
    if sys.argv[1:] == ["--check"]:
        stale = stale_pages() + stale_pictures()
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run tools/pages/generate.py")
        return 1 if stale else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    for page in stale_pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")
    if stale_pictures() or not list(PICTURES.glob("*.svg")):
        try:
            import plots  # here, as a check must do without matplotlib
        except ImportError as missing:
            print(f"{missing}: ./dev setup docs installs it", file=sys.stderr)
            return 1
        PICTURES.mkdir(exist_ok=True)
        for name, svg in plots.pictures():
            (PICTURES / f"{name}.svg").write_text(
                f"{svg.rstrip()}\n<!-- drawn from {fingerprint()} -->\n", encoding="utf-8"
            )
            print(f"wrote {(PICTURES / name).relative_to(ROOT)}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
