"""What does docs/policy.md say? The rules in their order, and the limits with their defaults."""

import re
from dataclasses import fields

from advisor_api.policy.guards import GUARDS
from advisor_api.policy.rule import Rule
from advisor_api.policy.rules import LAST, RESTARTS, RULES
from advisor_api.policy.stops import STOPS
from advisor_api.policy.values import FOR_ALL, MEANINGS, Policy
from advisor_api.policy.wording import SPAN

GROUPS = (
    ("Guards: nothing is done", GUARDS),
    ("Stop, or ask", STOPS),
    ("Restart", RESTARTS),
    ("Last", LAST),
)

_FIELD = re.compile(r"\{([^{}:]+)(?::(\w+))?\}")

HEAD = """# Policy

Generated from `advisor_api/policy` by `manage.py policy_page --write`; a test compares the two.

A verdict becomes facts, the facts go through the rules below from top to bottom, and the first rule that applies
decides. What every other rule said is kept with the decision. A restart leaves out the nodes that are excluded at
the moment (as far as the job's need allows), and with a ◆ also the nodes that are named surely enough.
"""


LEVELS = """
## Whose policy holds

Each value is that of the most specific policy that says it: the program's default < all clusters < the cluster <
the partition < the user. A policy says only what differs. Of a job's several partitions the first one that has a
policy counts. A more specific policy may be stricter or looser: whoever may activate policies is trusted with both,
and the pages show where each value comes from. What takes nodes from everybody or counts the jobs of all cannot be
said for one user: {for_all}.

A policy holds from its activation on, which needs a reason; an older one may be activated again, none is ever
changed or deleted. Each decision keeps the values that held and the versions they came from.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for title, rules in GROUPS:
        rows = [_row(RULES.index(rule) + 1, rule) for rule in rules]
        parts.append(f"\n## {title}\n\n| # | rule | then | because |\n|--:|---|---|---|\n" + "".join(rows))
    limits = "".join(f"| `{f.name}` | {f.default} | {MEANINGS[f.name]} |\n" for f in fields(Policy))
    parts.append(f"\n## Limits\n\n| value | default | meaning |\n|---|--:|---|\n{limits}")
    parts.append(LEVELS.format(for_all=", ".join(f"`{name}`" for name in sorted(FOR_ALL))))
    return "".join(parts)


def _filled(name: str, asked: str) -> str:
    """How a place that is filled in stands on the page: `⟨facts.requeues⟩ times`."""
    return f"⟨{name}⟩ {asked}s" if asked and asked != SPAN else f"⟨{name}⟩"


def _row(number: int, rule: Rule) -> str:
    then = rule.then.name if rule.then else "–"
    then += " ◆" if rule.names_nodes else ""
    again = f" (looked at again after {rule.again_seconds:g} s)" if rule.again_seconds else ""
    because = _FIELD.sub(lambda found: _filled(found[1], found[2] or ""), rule.because).replace("|", "\\|")
    return f"| {number} | `{rule.name}` | {then} | {because}{again} |\n"
