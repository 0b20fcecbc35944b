"""A language in which each text is the English one between ⟦ and ⟧, made as a translation is made.

Collected by `manage.py makemessages` from a copy of the program (it writes files beside the templates while it
reads them), filled and compiled by GNU gettext.
"""

import os
import re
import shutil
import subprocess
import sys
from gettext import GNUTranslations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = "xx"
MARKED = re.compile(r"⟦[^⟦⟧]*⟧")
LEFT_OUT = {"tests", "benchmarks", "docs", "deploy"}


def made(folder: Path) -> Path:
    """The folder of translations, for `LOCALE_PATHS`. Takes some seconds; `folder` holds the copy, too."""
    copy = folder / "program"
    _copy(copy)
    for domain in ("django", "djangojs"):
        command = [sys.executable, "manage.py", "makemessages", "--locale", CODE, "--domain", domain]
        _run(command, copy, {"REKINDLE_STATE_DIR": str(folder / "state")})
        _mark(copy / "locale" / CODE / "LC_MESSAGES", domain)
    return copy / "locale"


def collected(locale: Path, domain: str = "django") -> frozenset[str]:
    """The English texts that were found; of plurals both forms."""
    with (locale / CODE / "LC_MESSAGES" / f"{domain}.mo").open("rb") as file:
        texts = GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    singular = {key[0] if isinstance(key, tuple) else key for key in texts}
    return frozenset(key.rpartition("\x04")[2] for key in singular if key)


def _copy(to: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.html", "*.js", "*.txt"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=180,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        source = ROOT / name
        if name.split("/")[0] in LEFT_OUT or "vendor" in source.parts or not source.is_file():
            continue
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _mark(folder: Path, domain: str) -> None:
    po = folder / f"{domain}.po"
    # Nobody has said how this language counts.
    po.write_text(po.read_text().replace("nplurals=INTEGER; plural=EXPRESSION;", "nplurals=2; plural=(n != 1);"))
    _run(["msgen", "--output-file", f"{domain}.full", po.name], folder)
    marks = ["sed", "-e", "1s/^/⟦/", "-e", "$s/$/⟧/"]
    _run(["msgfilter", "--keep-header", "--input", f"{domain}.full", "--output-file", po.name, *marks], folder)
    _run(["msgfmt", "--check-format", "--output-file", f"{domain}.mo", po.name], folder)


def _run(command: list[str], cwd: Path, more: dict[str, str] | None = None) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
    done = subprocess.run(
        command, cwd=cwd, env={**environment, "LC_ALL": "C.UTF-8", **(more or {})}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{command[0]}: {done.stderr[-3000:]}"
