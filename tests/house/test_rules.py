"""Does the code keep the rules of the house that no linter knows?"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "recovery_site",
    "console",
    "audit",
    "detectors",
    "advisor_api",
    "workloads",
    "schedulers",
    "controller",
    "lab",
    "benchmarks",
)
MODULES = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
    if "migrations" not in path.relative_to(ROOT).parts
)
NEVER = re.compile(r"(?:^|_)(?:alerts?|service|manager|helpers?|utils?|handler|data|info)(?:$|_)", re.IGNORECASE)
FRAMEWORK = {"get_changeform_initial_data"}  # hooks that Django names
CLOCKS = {"now", "utcnow", "today", "time", "monotonic"}
DOORS = re.compile(
    r"tasks\.py$|views?(?:/|_|\.py)|/views/|management/commands/|metrics\.py$|authentication\.py$|admin\.py$"
    r"|consumers\.py$|tail\.py$|^controller/|^lab/|^benchmarks/|^recovery_site/(?:demo|beating)|schedulers/(?:ssh_)?transport\.py$"
    r"|^schedulers/(?:bounded_http|slurm/restd)\.py$"
    r"|^detectors/stores/http\.py$|^advisor_api/diagnosing/door\.py$"
)
TREES = {path: ast.parse(path.read_text()) for path in MODULES}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    start = first.end_lineno if documented else first.lineno - 1
    return (function.end_lineno or 0) - (start or 0)


def found(question: Callable[[Path], object]) -> dict[str, object]:
    """The modules for which the question has an answer, with it."""
    answers = {str(path.relative_to(ROOT)): question(path) for path in MODULES}
    return {name: answer for name, answer in answers.items() if answer}


def test_a_module_begins_with_its_question() -> None:
    assert found(lambda path: not ast.get_docstring(TREES[path])) == {}


def test_modules_are_short() -> None:
    lengths = found(lambda path: len(path.read_text().splitlines()))
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_functions_are_short() -> None:
    assert found(lambda path: {f.name: body_lines(f) for f in functions(TREES[path]) if body_lines(f) > 40}) == {}


def test_public_things_are_documented() -> None:
    def bare(path: Path) -> list[str]:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        public = [node for node in TREES[path].body if isinstance(node, kinds) and not node.name.startswith("_")]
        return [node.name for node in public if not ast.get_docstring(node)]

    assert found(bare) == {}


def test_words_that_say_nothing_are_not_used() -> None:
    def empty_words(path: Path) -> list[str]:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        own = [node.name for node in ast.walk(TREES[path]) if isinstance(node, kinds)]
        return [name for name in [path.stem, *own] if NEVER.search(name) and name not in FRAMEWORK]

    assert found(empty_words) == {}


def test_only_doors_read_the_clock() -> None:
    def reads(path: Path) -> list[str]:
        if DOORS.search(str(path.relative_to(ROOT))):
            return []
        return [
            ast.unparse(node)
            for node in ast.walk(TREES[path])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS
            if ast.unparse(node.func.value) in {"datetime", "timezone", "time", "date", "datetime.datetime"}
        ]

    assert found(reads) == {}


def test_no_hidden_clock_and_no_shell() -> None:
    never = re.compile(r"auto_now|\bNow\(|shell\s*=\s*True|os\.system\(|os\.popen\(|getoutput")
    assert found(lambda path: never.findall(path.read_text())) == {}


def test_every_subprocess_has_a_time_limit() -> None:
    def endless(path: Path) -> list[str]:
        kinds = {"subprocess.run", "subprocess.check_output"}
        runs = [n for n in ast.walk(TREES[path]) if isinstance(n, ast.Call) and ast.unparse(n.func) in kinds]
        return [ast.unparse(run) for run in runs if "timeout" not in {k.arg for k in run.keywords}]

    assert found(endless) == {}


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, timeout=180, check=True)
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name]


def test_the_tree_knows_no_machine_and_no_registry() -> None:
    words = ["/" + "work/", "/" + "root/", "pypi" + ".org", "registry." + "npmjs", "deb." + "debian.org"]
    found = []
    for path in tracked():
        if path.suffix in {".png", ".woff2", ".ico"} or "static/vendor" in str(path):
            continue
        text = path.read_text(errors="replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in words if word in text]
    assert not found


def test_every_requirement_has_its_reason_and_its_pin() -> None:
    for path in ROOT.glob("requirements*.txt"):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith(("#", "-"))]
        assert lines
        assert not [line for line in lines if not re.match(r"[a-z0-9-]+==\S+\s+# \S", line)]


def test_skips_are_known() -> None:
    """What is skipped says why, and stands here; nothing does today."""
    skips = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__) and re.search(r"\b(?:skip|skipif|xfail|importorskip)\b\(", path.read_text())
    ]
    assert skips == []
