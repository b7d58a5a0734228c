# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks: README is the first page, decisions get a list, results are there, other links that leave docs/ become names."""

import pathlib
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^()\s#]*)(#[^()\s]*)?\)")

# Pages of the site that lie elsewhere in the repository.
ELSEWHERE = {"index.md": "README.md", "python.md": "python/README.md"}
PYTHON_MODULES = [("Plans", "_plan"), ("Errors", "_check"), ("Settings", "_config"), ("torch", "torch"), ("jax", "jax")]


def decisions():
    lines = ["# Decisions", "", "The question, what was decided, why, and what follows: one page each.", ""]
    for page in sorted((ROOT / "docs" / "adr").glob("0*.md")):
        title = re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), flags=re.M)[1]
        lines.append(f"- [{title}]({page.name})")
    return "\n".join(lines) + "\n"


def python_reference():
    """The package's docstrings; matmul is compiled, so its text comes from the source."""
    source = (ROOT / "python" / "src" / "matmul_text.hpp").read_text(encoding="utf-8")
    matmul = re.search(r'matmul_text\[\] =.*?R"\((.*?)\)"', source, flags=re.S)[1]
    modules = "".join(f"## {title}\n\n::: exactile.{module}\n\n" for title, module in PYTHON_MODULES)
    return f"# Python reference\n\n## matmul\n\n```text\n{matmul}```\n\n{modules}"


def on_files(files, config):
    for page, path in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    files.append(File.generated(config, "adr/index.md", content=decisions()))
    files.append(File.generated(config, "python-reference.md", content=python_reference()))
    for path in sorted((ROOT / "results").glob("*.json")):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, files, **_):
    """Links as the repository has them, to pages as the site has them."""
    source = page.file.src_path
    folder = posixpath.dirname(ELSEWHERE.get(source) or posixpath.join("docs", source))
    pages = {path: name for name, path in ELSEWHERE.items()}

    def rewrite(match):
        mark, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if (
            not target
            or re.match(r"[a-z]+:", target)
            or page.file.src_path.startswith(("reference/", "python-reference"))
        ):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        inside = posixpath.relpath(path, "docs")
        for candidate in (pages.get(path, inside), f"{inside}/index.md", f"{inside}/README.md", path):
            if not candidate.startswith("..") and files.get_file_from_path(candidate):
                here = posixpath.dirname(page.file.src_path) or "."
                return f"{mark}[{text}]({posixpath.relpath(candidate, here)}{anchor})"
        return f"{text} (`{path}`)" if text != path else f"`{path}`"

    return LINK.sub(rewrite, markdown)


def on_post_build(config):
    """A page that is read without a network must load nothing from one."""
    for page in pathlib.Path(config.site_dir).rglob("*.html"):
        loaded = re.search(r'<(?:script|iframe|img)[^>]* src="?https?:[^>]*>', page.read_text(encoding="utf-8"))
        if loaded:
            raise PluginError(f"{page.name} loads {loaded[0]} from elsewhere")
