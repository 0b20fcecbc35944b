"""What does docs/policy.md say? The rules in their order, and the limits with their defaults."""

from dataclasses import fields

from advisor_api.policy.guards import GUARDS
from advisor_api.policy.rule import Rule
from advisor_api.policy.rules import LAST, RESTARTS, RULES
from advisor_api.policy.stops import STOPS
from advisor_api.policy.values import MEANINGS, Policy

GROUPS = (
    ("Guards: nothing is done", GUARDS),
    ("Stop, or ask", STOPS),
    ("Restart", RESTARTS),
    ("Last", LAST),
)

HEAD = """# Policy

Generated from `advisor_api/policy` by `manage.py policy_page --write`; a test compares the two.

A verdict becomes facts, the facts go through the rules below from top to bottom, and the first rule that applies
decides. What every other rule said is kept with the decision. A restart leaves out the nodes that are excluded at
the moment (as far as the job's need allows), and with a ◆ also the nodes that are named surely enough.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for title, rules in GROUPS:
        rows = [_row(RULES.index(rule) + 1, rule) for rule in rules]
        parts.append(f"\n## {title}\n\n| # | rule | then | because |\n|--:|---|---|---|\n" + "".join(rows))
    limits = "".join(f"| `{f.name}` | {f.default} | {MEANINGS[f.name]} |\n" for f in fields(Policy))
    parts.append(f"\n## Limits\n\n| value | default | meaning |\n|---|--:|---|\n{limits}")
    return "".join(parts)


def _row(number: int, rule: Rule) -> str:
    then = rule.then.name if rule.then else "–"
    then += " ◆" if rule.names_nodes else ""
    again = f" (looked at again after {rule.again_seconds:g} s)" if rule.again_seconds else ""
    because = rule.because.replace("{", "⟨").replace("}", "⟩").replace("|", "\\|")
    return f"| {number} | `{rule.name}` | {then} | {because}{again} |\n"
