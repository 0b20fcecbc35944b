"""What does an advice say in one line, and may it be acted on?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from advisor_api.acting import acting_on
from advisor_api.deciding import NAMING
from advisor_api.gates import closed_for_approval, may_act
from advisor_api.models import Advice
from advisor_api.policy.advice_state import MOVES, AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from console.cluster_rows import pauses_of
from console.plain_words import spoken, with_unit
from workloads.models import Attempt, Cluster, Job

OPEN = [state.value for state in AdviceState if MOVES[state]]
ADVICE_SHOWN = 25
ADVICE_TO_COME = 100
OF_A_LIST = frozenset(f"facts.{name}" for name in ("state", "kind", "action", "mode", "evidence_status"))
"""Facts whose values are words of ours."""
LONG = ("trace", "facts", "judged_by", "verdict__body")  # what a line alone does not show


@dataclass(frozen=True)
class RuleSaid:
    """What one row of the policy table said when the advice was made."""

    rule: str
    then: Operation | None
    applied: bool
    chosen: bool
    because: str
    inputs: tuple[tuple[str, str], ...]
    wins_if: str = ""  # `partition restarts = 3`: the smallest change with which it would have decided


@dataclass(frozen=True)
class AdviceLine:
    """One advice as pages show it. `may` and `why` are none for an advice that is over.

    `still_closed`: why it would not be acted on after a yes either; so long a yes is refused.
    """

    advice: Advice
    job: Job
    sentence: str
    operation: Operation
    state: AdviceState
    reason: ReconciliationReason
    is_open: bool
    may: bool | None = None
    why: str = ""
    still_closed: str = ""
    rules: tuple[RuleSaid, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it waits for a person's yes."""
        return self.state is AdviceState.AWAITING_APPROVAL

    @property
    def asks(self) -> bool:
        """Whether it is open and only asks a person to look."""
        return self.operation is Operation.WAIT and self.state is AdviceState.PENDING

    @property
    def gates(self) -> str:
        """Whether a yes was possible, for a form that speaks of it: `KEY:0`, or `KEY:1` where a gate was closed."""
        return f"{self.advice.pk}:{int(bool(self.still_closed))}"

    @property
    def mark(self) -> str:
        """How it stands, for a form that speaks of it: `GENERATION:STATE`."""
        return f"{self.advice.generation}:{self.state.value}"


@dataclass(frozen=True)
class OpenAdvice:
    """Open advice of all clusters: the newest, and what is not over, of that what is wanted soonest first."""

    newest: Sequence[AdviceLine]
    to_come: Sequence[AdviceLine]


def open_advice(now: datetime, only: Cluster | None = None, state: AdviceState | None = None) -> list[AdviceLine]:
    """Open advice, the newest first: of all clusters or of one, in all open states or in one. Without the rules."""
    rows = _open() if state is None else _rows().filter(state=state.value).defer(*LONG)
    if only is not None:
        rows = rows.filter(attempt__job__cluster=only)
    return _lines(rows.order_by("-id")[:ADVICE_SHOWN], now, rules=False)


def all_open_advice(now: datetime) -> OpenAdvice:
    """Both views of it, without the rules. Each line is made once, where there are not very many."""
    rows = _open().order_by("not_before", "id")
    lines = _lines(rows[: ADVICE_TO_COME + 1], now, rules=False)
    if len(lines) <= ADVICE_TO_COME:
        newest = sorted(lines, key=lambda line: -line.advice.pk)[:ADVICE_SHOWN]
        return OpenAdvice(newest, [line for line in lines if line.advice.expires_at > now])
    to_come = _lines(rows.filter(expires_at__gt=now)[:ADVICE_TO_COME], now, rules=False)
    return OpenAdvice(open_advice(now), to_come)


def advice_on(job: Job, now: datetime) -> list[AdviceLine]:
    """The newest advice on the attempts of one job in its order, without the rules that were looked at."""
    rows = _rows().filter(attempt__job=job).defer(*LONG)
    return _lines(rows.order_by("-id")[:ADVICE_SHOWN], now, rules=False)[::-1]


def advice_in_full(attempts: Iterable[Attempt], now: datetime) -> list[AdviceLine]:
    """The newest advice on these attempts in its order, with the rules."""
    return _lines(_rows().filter(attempt__in=list(attempts)).order_by("-id")[:ADVICE_SHOWN], now)[::-1]


def advice_by_key(pk: int, now: datetime) -> AdviceLine | None:
    """One advice."""
    return next(iter(_lines(_rows().filter(pk=pk), now)), None)


def excluded_on(job: Job) -> dict[int, list[str]]:
    """The nodes that advice on each attempt of a job leaves out, by attempt."""
    found: dict[int, list[str]] = {}
    rows = Advice.objects.filter(attempt__job=job).order_by("-id").values_list("attempt", "excluded_nodes")
    for attempt, nodes in rows[:ADVICE_SHOWN]:
        names = found.setdefault(attempt, [])
        names += [str(node) for node in nodes if str(node) not in names]
    return found


def advice_sentence(advice: Advice) -> str:
    """`Restart 12345-0 without n03, because …`. Reads `advice.attempt.job`."""
    said = {
        Operation.RESTART: _("Restart %(attempt)s%(without)s, because %(because)s")
        if without(advice)
        else _("Restart %(attempt)s on the nodes it gets, because %(because)s"),
        Operation.TERMINATE: _("Stop %(attempt)s, because %(because)s"),
        Operation.RELEASE: _("Release the held job %(attempt)s, because %(because)s"),
        Operation.WAIT: _("A person should look at %(attempt)s, because %(because)s"),
    }[Operation(advice.operation)]
    return said % {"attempt": advice.attempt.label, "without": without(advice), "because": advice.because}


def without(advice: Advice) -> str:
    """` without n03`, or `, still without n03` when an earlier failure is the reason; empty without any node."""
    nodes = {"nodes": ", ".join(str(node) for node in advice.excluded_nodes)}
    if not nodes["nodes"]:
        return ""
    return (_(" without %(nodes)s") if advice.rule in NAMING else _(", still without %(nodes)s")) % nodes


def effect_sentence(line: AdviceLine) -> str:
    """What a yes would do to the job, in words."""
    names = {"number": line.job.number, "nodes": ", ".join(str(node) for node in line.advice.excluded_nodes)}
    said = {
        Operation.RESTART: _(
            "The controller requeues and holds job %(number)s, leaves out %(nodes)s for it, and releases it. "
            "It starts again from its last checkpoint."
        )
        if names["nodes"]
        else _(
            "The controller requeues and holds job %(number)s, and releases it. It starts again from its last "
            "checkpoint."
        ),
        Operation.TERMINATE: _("The controller cancels job %(number)s. It is not started again."),
        Operation.RELEASE: _("The controller releases the hold of job %(number)s."),
        Operation.WAIT: _("Nothing is sent to the scheduler: this advice only asks a person to look."),
    }[line.operation]
    return said % names


def rules_said(trace: Any) -> tuple[RuleSaid, ...]:
    """The stored decision trace; entries of another shape are left out."""
    entries = trace if isinstance(trace, list) else []
    return tuple(_rule(entry) for entry in entries if isinstance(entry, Mapping) and entry.get("rule"))


def _rule(entry: Mapping[str, Any]) -> RuleSaid:
    then = entry.get("then")
    inputs = entry.get("inputs")
    return RuleSaid(
        str(entry["rule"]),
        Operation(then) if then in set(Operation) else None,
        bool(entry.get("applied")),
        bool(entry.get("chosen")),
        str(entry.get("because") or ""),
        tuple(_input(str(name), value) for name, value in inputs.items()) if isinstance(inputs, Mapping) else (),
        _turn(entry.get("wins_if")),
    )


def _input(name: str, value: Any) -> tuple[str, str]:
    """`exclude confidence of the policy` and `80 %`: what a rule looked at, in words."""
    said = spoken(name)
    if name.startswith("policy."):
        said = _("%(name)s of the policy") % {"name": said}
    if isinstance(value, list | Mapping):
        return said, _value(value)
    return said, spoken(value) if name in OF_A_LIST else with_unit(value, name)


def _turn(wins_if: Any) -> str:
    if not isinstance(wins_if, Mapping) or "fact" not in wins_if:
        return ""
    return f"{str(wins_if['fact']).replace('_', ' ')} = {_value(wins_if.get('value'))}"


def _value(value: Any) -> str:
    """A value of a fact in words: yes and no, the names of nodes, or what it is."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value) or _("none")
    if isinstance(value, Mapping):
        name = str(value.get("host") or value.get("node") or "")
        if value.get("drained"):
            name = _("%(node)s (drained)") % {"node": name}
        sure = value.get("confidence")
        if isinstance(sure, int | float):
            return _("%(node)s (%(share)s sure)") % {"node": name, "share": f"{sure:.2f}"}
        return name
    return str(value)


def _rows() -> QuerySet[Advice]:
    return Advice.objects.select_related("attempt__job__cluster", "verdict", "sequence", "policy")


def _open() -> QuerySet[Advice]:
    return _rows().filter(state__in=OPEN).defer(*LONG)


def _lines(rows: QuerySet[Advice], now: datetime, *, rules: bool = True) -> list[AdviceLine]:
    found = list(rows)
    pauses = pauses_of(list({row.attempt.job.cluster for row in found}), now) if found else {}
    acting = acting_on([row.attempt.job for row in found if row.state in OPEN])
    lines = []
    for advice in found:
        job = advice.attempt.job
        state = AdviceState(advice.state)
        may, why, still_closed = None, "", ""
        if state.value in OPEN:
            asked = (advice, job.cluster, job, pauses.get(job.cluster_id, []), acting, now)
            may, why = may_act(*asked)
            still_closed = closed_for_approval(*asked) if state is AdviceState.AWAITING_APPROVAL else why
        lines.append(
            AdviceLine(
                advice,
                job,
                advice_sentence(advice),
                Operation(advice.operation),
                state,
                ReconciliationReason(advice.state_reason),
                state.value in OPEN,
                may,
                why,
                still_closed,
                rules_said(advice.trace) if rules else (),
            )
        )
    return lines
