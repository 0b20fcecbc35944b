"""How are people's names kept out of an export, and the same person still recognised in it?

A name that the site knows (who signs in, whose jobs run on the cluster) becomes `person-` and twelve digits of a
keyed hash, wherever it stands as a word of its own: as an actor, in sentences, in payloads. Whoever lacks the
site's secret key cannot tell whose it is, nor by trying all names. What stays: names that the site does not know,
names within other words, and what describes a person without naming one (job names, numbers, times).
"""

import re
from collections.abc import Iterable
from typing import Any

from django.contrib.auth import get_user_model
from django.utils.crypto import salted_hmac

from audit.actor_kind import ActorKind
from workloads.models import Job

SALT = "rekindle.pseudonyms"
DIGITS = 12


class Pseudonyms:
    """Stands for some names. The same name has the same pseudonym as long as the site keeps its secret key."""

    def __init__(self, names: Iterable[str]) -> None:
        known = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
        self._known = (
            re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, known))})(?![A-Za-z0-9_])")
            if known
            else None
        )

    def of(self, name: str) -> str:
        """`person-1f0a…`."""
        return f"person-{salted_hmac(SALT, name, algorithm='sha256').hexdigest()[:DIGITS]}"

    def instead_of(self, words: dict[str, Any]) -> dict[str, Any]:
        """The words of an event with pseudonyms; its job's user always, the actor too, if a person."""
        changed: dict[str, Any] = {name: self._in(value) for name, value in words.items()}
        if words["user"]:
            changed["user"] = self.of(words["user"])
        if words["actorKind"] == ActorKind.PERSON.value:
            changed["actor"] = self.of(words["actor"])
            changed["sentence"] = self._in(words["sentence"].replace(words["actor"], changed["actor"]))
        return changed

    def _in(self, value: Any) -> Any:
        if self._known is None:
            return value
        if isinstance(value, str):
            return self._known.sub(lambda found: self.of(found[0]), value)
        if isinstance(value, list):
            return [self._in(one) for one in value]
        if isinstance(value, dict):
            return {self._in(name): self._in(one) for name, one in value.items()}
        return value


def pseudonyms_for(cluster: str) -> Pseudonyms:
    """For everybody who signs in, and whose jobs the cluster has shown."""
    people = get_user_model().objects.values_list("username", flat=True)
    users = Job.objects.filter(cluster__name=cluster).order_by().values_list("user", flat=True).distinct()
    return Pseudonyms([*people, *users])
