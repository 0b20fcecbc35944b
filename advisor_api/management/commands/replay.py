"""`manage.py replay`: tries a draft policy on stored decisions, or proves that they come out the same again."""

import json
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from advisor_api.activating import find_place, find_version
from advisor_api.policies import place_of
from advisor_api.policy.replay import Compared, Outcome, Summary
from advisor_api.policy.text import MOST_BYTES, read
from advisor_api.policy.values import BadPolicy
from advisor_api.refusals import Refusal
from advisor_api.replaying import Draft, Span, read_span, replay
from workloads.models import Cluster

BAD = 2  # exit status for a mistake in the command line, and for what could not be read


class Command(BaseCommand):
    """Rows of what differs as they are found, newest decision first; the counts at the end."""

    help = "Try a draft policy on the stored facts of past decisions; nothing is stored or done."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which policy, which decisions, and in which form."""
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--policy", metavar="FILE", help="a policy as YAML (`policy export`); - for standard input"
        )
        which.add_argument("--policy-version", type=int, metavar="N", help="a stored version, active or not")
        which.add_argument("--check", action="store_true", help="each decision by its own policy: 1 if one differs")
        parser.add_argument("--since", default="7d", metavar="SPAN", help="7d, 12h, 30m; 7d by default")
        parser.add_argument("--cluster", metavar="NAME", help="only decisions on this cluster")
        parser.add_argument(
            "--json", action="store_true", help="one JSON object a line; the last one is the summary"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print what differs and the counts; exit status 1 for a check that failed, 2 for what cannot be read."""
        try:
            draft, span = self._draft(options), self._span(options)
        except (Refusal, BadPolicy, OSError) as error:
            raise CommandError(str(error), returncode=BAD) from error
        summary, began = Summary(), time.monotonic()
        for compared in replay(span, draft, summary):
            if compared.differs:
                self.stdout.write(json.dumps(_row(compared)) if options["json"] else _line(compared))
        seconds = time.monotonic() - began
        self.stdout.write(_closing(summary, seconds, as_json=options["json"]))
        if options["check"] and (summary.differing or summary.unreadable):
            sys.exit(1 if summary.differing else BAD)

    def _draft(self, options: dict[str, Any]) -> Draft | None:
        if options["check"]:
            return None
        if options["policy_version"] is not None:
            version = find_version(options["policy_version"])
            return Draft(place_of(version), version.values)
        if options["policy"] == "-":
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(options["policy"]).open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        text = read(raw)
        return Draft(find_place(text.cluster, text.partition, text.user), dict(text.values))

    def _span(self, options: dict[str, Any]) -> Span:
        now, cluster = timezone.now(), None
        if options["cluster"]:
            cluster = Cluster.objects.filter(name=options["cluster"]).first()
            if cluster is None:
                raise CommandError(f"There is no cluster {options['cluster']!r}.", returncode=BAD)
        return Span(now - read_span(options["since"]), now, cluster)


def _row(compared: Compared) -> dict[str, Any]:
    past = compared.past
    return {
        "cluster": past.cluster,
        "attempt": past.label,
        "decidedAt": past.decided_at.isoformat(),
        "then": _told(past.outcome),
        "would": _told(compared.would),
        "differs": list(compared.differs),
        "uncertain": compared.uncertain,
    }


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "operation": outcome.word,
        "rule": outcome.rule,
        "nodes": list(outcome.nodes),
        "because": outcome.because,
        "times": [at.isoformat() for at in outcome.times],
    }


def _line(compared: Compared) -> str:
    past = compared.past
    then, would = (f"{one.word} {one.rule} {','.join(one.nodes)}".rstrip() for one in compared.both)
    mark = " (counted over other windows)" if compared.uncertain else ""
    when = f"{past.decided_at:%Y-%m-%d %H:%M:%S}"
    return f"{when}\t{past.cluster}\t{past.label}\t{then}\t→ {would}\t[{', '.join(compared.differs)}]{mark}"


def _closing(summary: Summary, seconds: float, *, as_json: bool) -> str:
    speed = round(summary.seen / seconds) if seconds else 0
    if as_json:
        counts = {name: value for name, value in asdict(summary).items() if isinstance(value, int | str)}
        operations = [{"then": then, "would": would, "count": n} for then, would, n in summary.by_operation()]
        rules = [
            {"then": [then, rule], "would": [would, other], "count": n}
            for then, rule, would, other, n in summary.by_rule()
        ]
        closing = {**counts, "byOperation": operations, "byRule": rules, "differences": dict(summary.differences)}
        return json.dumps({"summary": closing | {"seconds": round(seconds, 3), "decisionsPerSecond": speed}})
    lines = [
        f"{summary.seen} decisions, {summary.replayed} made again, {summary.differing} differ; "
        f"{summary.not_concerned} not concerned, {summary.unreadable} could not be read "
        f"({speed} decisions/s)."
    ]
    lines += [f"  {n}\t{then} → {would}" for then, would, n in summary.by_operation()]
    lines += [f"  {n}\t{then} {rule} → {would} {other}" for then, rule, would, other, n in summary.by_rule()]
    if summary.uncertain:
        lines.append(f"{summary.uncertain} hold counts over a window of which this policy says another length.")
    if summary.first_unreadable:
        lines.append(f"The first that could not be read: {summary.first_unreadable}")
    return "\n".join(lines)
