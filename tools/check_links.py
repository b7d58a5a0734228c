#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link of the documentation to a file, and to a heading in it, and every path of the repository that it names
leads somewhere. Ends with 1 where one does not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(r"`((?:apps|bench|cmake|docs|examples|include|python|results|src|tests|tools)/[\w./-]*)`")
INLINE_CODE = re.compile(r"`(?:[^`\n]|\n(?!\n))*`")  # which may go on in the next line


def text_of(path):
    """The page without its blocks of code, where brackets and hashes mean something else."""
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)


def anchors(path):
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ +(.+?) *$", text_of(path), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    for link in LINK.findall(INLINE_CODE.sub("", text_of(page))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link
    for path in PATH.findall(page.read_text(encoding="utf-8")):
        if not (ROOT / path).exists():
            yield path


def main():
    pages = [page for page in ROOT.rglob("*.md") if "build" not in page.relative_to(ROOT).parts]
    broken = [f"{page.relative_to(ROOT)}: {link} leads nowhere" for page in sorted(pages) for link in broken_links(page)]
    print("\n".join(broken) or f"all links of {len(pages)} pages lead somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
