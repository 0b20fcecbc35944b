"""Which labels does a store have, and which values does one have? Read from JSON, bounded, whatever is in it."""

import json
from collections.abc import Iterable

from detectors.stores.store import Answer, StoreTrouble, refused

NAMES_LIMIT = 200
VALUES_LIMIT = 2_000
VALUE_LENGTH = 512  # characters; a longer one is no number, node or path of ours


def listed(title: str, answer: Answer, key: str) -> list[str]:
    """The texts of a list under `key`: plain ones (Loki), or each the `value` of an object (VictoriaLogs).

    Nothing found is a list that is empty or not there at all (observed). Raises `StoreTrouble`.
    """
    if answer.status != 200:
        raise refused(title, answer)
    try:
        found = json.loads(answer.body).get(key) or []
        texts = [one["value"] if isinstance(one, dict) else one for one in found]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreTrouble(f"{title}'s list of labels cannot be understood") from None
    return _kept(texts)


def _kept(texts: Iterable[object]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        if isinstance(text, str) and 0 < len(text) <= VALUE_LENGTH:
            kept.append(text)
        if len(kept) >= VALUES_LIMIT:
            break
    return kept
