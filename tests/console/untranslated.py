"""Which words of a template or a module would a translation not reach?

In templates: text and attributes that people read, outside of `{% translate %}` and `{% blocktranslate %}`, and
literals that tags and filters write out. In modules: texts of several words outside of `gettext` and its kind.
What is stored, sent away or written to a log stays English; such a line says `# stays English: <why>`.
"""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

READ_ATTRIBUTES = frozenset(
    {"title", "aria-label", "placeholder", "alt", "aria-description", "label", "aria-roledescription"}
)
UNREAD = frozenset({"script", "style", "code", "kbd", "samp"})
VOID = frozenset({"img", "input", "br", "hr", "meta", "link", "wbr", "path", "circle", "rect", "line", "use"})
KEPT = frozenset({"Rekindle", "UTC", "Slurm", "NCCL", "CSV", "JSON", "API", "ms", "min", "GPU"})
"""Names and units that are the same in every language."""

TRANSLATED = re.compile(r"\{%\s*blocktrans(?:late)?\b.*?\{%\s*endblocktrans(?:late)?\s*%\}", re.DOTALL)
COMMENT = re.compile(r"\{#.*?#\}|\{%\s*comment\b.*?\{%\s*endcomment\s*%\}", re.DOTALL)
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
LITERAL = re.compile(r"(?<!_\()(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote)).)*)(?P=quote)")
SILENT_TAGS = (
    "translate",
    "trans",
    "blocktranslate",
    "load",
    "url",
    "static",
    "extends",
    "block",
    "panel",
    "places",
)
PLURAL = re.compile(r"\|\s*pluralize")

GETTEXTS = frozenset(
    {
        "gettext",
        "gettext_lazy",
        "ngettext",
        "ngettext_lazy",
        "pgettext",
        "pgettext_lazy",
        "npgettext",
        "gettext_noop",
        "_",
    }
)
LOGS = frozenset({"log", "logger", "logging"})
MARK = "# stays English:"


class _Reader(HTMLParser):
    """Collects what people read of a page's source."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Attributes that are read out or shown."""
        if tag in UNREAD:
            self._unread += 1
        names = dict(attrs)
        read = READ_ATTRIBUTES | (
            {"value"} if tag == "input" and names.get("type") in {"submit", "button"} else set()
        )
        self.found += [f"{name}={value}" for name, value in attrs if name in read and _says_something(value or "")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """As a start tag that is closed at once."""
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Code and keys are over."""
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        """Text between tags."""
        if not self._unread and _says_something(data):
            self.found.append(" ".join(data.split()))


def _says_something(text: str) -> bool:
    return any(word not in KEPT for word in WORD.findall(text))


def of_template(source: str) -> list[str]:
    """What a translation would not reach of a template."""
    bare = TRANSLATED.sub("", COMMENT.sub("", source))
    reader = _Reader()
    reader.feed(TAG.sub("", bare))
    reader.close()
    return [*reader.found, *_written_out(bare)]


def _written_out(bare: str) -> Iterator[str]:
    for tag in TAG.findall(bare):
        if PLURAL.search(tag):
            yield tag  # English alone has two forms made in this way
        inside = tag[2:-2].strip()
        if inside.split(maxsplit=1)[:1] and inside.split(maxsplit=1)[0] in SILENT_TAGS:
            continue
        for literal in LITERAL.finditer(inside):
            text = literal["text"]
            if _says_something(text) and (" " in text.strip() or text[:1].isupper()):
                yield tag


def of_module(source: str) -> list[str]:
    """What a translation would not reach of a module, each with its line."""
    lines = source.splitlines()
    tree = ast.parse(source)
    reader = _Texts()
    reader.visit(tree)
    return [f"{line}: {text}" for line, text in reader.found if not _marked(lines, line)]


def _marked(lines: list[str], line: int) -> bool:
    return MARK in lines[line - 1] or (line >= 2 and lines[line - 2].strip().startswith(MARK))


class _Texts(ast.NodeVisitor):
    """Texts of several words that are neither documentation, nor translated, nor for a log or a developer."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        """A text that stands alone is documentation."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Labels of enums are collected by `makemessages` and translated where they are shown."""
        if "Word" not in {ast.unparse(base) for base in node.bases}:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """What is translated or logged is done with."""
        named = ast.unparse(node.func)
        if named.split(".")[-1] in GETTEXTS or named.split(".")[0] in LOGS:
            return
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Exceptions of Python itself speak to developers."""
        named = ast.unparse(node.exc.func) if isinstance(node.exc, ast.Call) else ""
        if named not in {"LookupError", "ValueError", "TypeError", "AssertionError", "RuntimeError"}:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """One text, whatever stands in it."""
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        self._look_at(node.lineno, text)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A text that is no part of another one."""
        if isinstance(node.value, str):
            self._look_at(node.lineno, node.value)

    def _look_at(self, line: int, text: str) -> None:
        if len([word for word in WORD.findall(text) if word not in KEPT]) >= 2 and " " in text.strip():
            self.found.append((line, text))


def in_files(files: Iterator[Path]) -> Iterator[tuple[Path, str]]:
    """Each with what a translation would not reach of it."""
    for file in files:
        source = file.read_text()
        for text in of_template(source) if file.suffix == ".html" else of_module(source):
            yield file, text
