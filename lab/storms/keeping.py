"""What did all runs come to? Lines of JSON in a file that grows, so that a long series can be stopped and go on."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOGETHER = 20
"""Runs side by side on one site: they share its workers, its clock and what happens to them."""

HEAD = """# Storms: was anything done that must not be done?

Runs by chance on the simulated cluster, each command and everything stored judged by the truth
([how](../docs/lab.md#storms)). Made by `{command} --page benchmarks/storms.md`;
`--first SEED --runs 1` lives through the site of a seed again.

"""


@dataclass
class Sum:
    """Of all lines so far. Sites count when their own line is there: it is the last one that is written of them."""

    sites: set[int] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    advice: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    deaths: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, lines: Iterable[dict[str, Any]]) -> None:
        """The lines of one whole site."""
        for line in lines:
            self.events.update(line["events"])
            if "site" in line:
                self.sites.add(int(line["site"]))
                self.deaths.update(line["deaths"])
                self.seconds += float(line["seconds"])
                continue
            self.seeds.add(int(line["seed"]))
            self.modes[line["mode"]] += 1
            self.advice.update(line["advice"])
            self.counts.update({name: int(line[name]) for name in ("jobs", "commands", "requeues", "exclusions")})
            self.violations += [f"seed {line['seed']}: {violation}" for violation in line["violations"]]

    def page(self, command: str) -> str:
        """The table with the command that made it, and what was wrong."""
        wrong = "".join(f"\n- {violation}" for violation in self.violations)
        return (
            HEAD.format(command=command)
            + self.table()
            + "\n"
            + (f"\n## What was wrong\n{wrong}\n" if wrong else "")
        )

    def table(self) -> str:
        """As Markdown."""
        seeds = f"{min(self.seeds)}–{max(self.seeds)}" if self.seeds else "none"
        killed = {name: self._killed(name) for name in ("site", "controller", "watchdog")}
        rows = [
            ("runs", f"{len(self.seeds):,} on {len(self.sites)} sites, seeds {seeds} ({_listed(self.modes)})"),
            ("jobs", f"{self.counts['jobs']:,}"),
            ("commands that change something", f"{self.counts['commands']:,}"),
            ("restarts", f"{self.counts['requeues']:,}"),
            ("advice", _listed(self.advice)),
            ("nodes excluded", f"{self.counts['exclusions']:,}"),
            *((f"{name} killed", told) for name, told in killed.items()),
            ("clocks set", _listed(Counter({k: v for k, v in self.events.items() if k.startswith("clock_")}))),
            ("other hazards", _listed(Counter({k: v for k, v in self.events.items() if _other(k)}))),
            (
                "processor time",
                f"{self.seconds / 60:.0f} min, {self.seconds / max(1, len(self.seeds)):.1f} s a run",
            ),
            ("**violations**", f"**{len(self.violations)}**"),
        ]
        return "\n".join(["| what | how many |", "|---|---|", *(f"| {name} | {told} |" for name, told in rows)])

    def _killed(self, who: str) -> str:
        own = {name.partition(" ")[2]: count for name, count in self.deaths.items() if name.startswith(f"{who} ")}
        return f"{sum(own.values()):,}: {_listed(Counter(own))}" if own else "0"


def _other(event: str) -> bool:
    return not event.startswith(("clock_", "kill_")) and event not in {
        "listing_normal",
        "start_controller",
        "logs_start",
    }


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counts.items())) or "none"


def read_kept(file: Path) -> list[list[dict[str, Any]]]:
    """The whole sites of the file; what was written of one that was not ended is left out. No file: none."""
    return list(_sites(file)) if file.exists() else []


def _sites(file: Path) -> Iterator[list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    for text in file.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:  # broken off when the series was stopped
            lines = []
            continue
        if "site" in lines[-1]:
            if len(lines) == TOGETHER + 1:
                yield lines
            lines = []
