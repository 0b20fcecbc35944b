"""How are due questions put to providers, without anybody waiting for an answer?

A sweep claims and starts; each question is asked in a thread of its own. The worker's own threads and processes
are never held: they read, judge and decide while a provider thinks. There are only so many threads, in all and for
one provider; what finds none free is still due at the next sweep.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from django.db import close_old_connections, connections
from django.utils import timezone

from detectors.attribution.answers import Answer
from detectors.credential_folder import credential_named
from detectors.provider_asking import Came, claim, due_questions, keep
from detectors.provider_models import ProviderQuestion
from detectors.provider_writing import asked_of
from detectors.providers import ADAPTERS
from detectors.providers.posting import post
from detectors.providers.provider import NoAnswer, NothingYet
from detectors.providers.told import read_object
from detectors.stores.store import StoreTrouble

log = logging.getLogger(__name__)
MOST = 8
MOST_OF_ONE = 2


class Places:
    """How many questions are on their way in this process, in all and of each provider."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[int] = Counter()

    def take(self, provider: int) -> bool:
        """A place for one more question, if one is free."""
        with self._lock:
            free = self._taken.total() < MOST and self._taken[provider] < MOST_OF_ONE
            self._taken[provider] += free
            return free

    @property
    def taken(self) -> int:
        """How many are on their way."""
        with self._lock:
            return self._taken.total()

    def leave(self, provider: int) -> None:
        """It is over."""
        with self._lock:
            self._taken[provider] -= 1


PLACES = Places()


def start_due(now: datetime) -> int:
    """Start what is due and finds a place; how many."""
    started = 0
    for question in due_questions(now):
        provider = question.provider_id
        if provider is None or not PLACES.take(provider):
            continue
        mine = None
        try:
            mine = claim(question, now)
        finally:
            if mine is None:
                PLACES.leave(provider)
        if mine is not None:
            _thread(mine, provider).start()
            started += 1
    return started


def _thread(question: ProviderQuestion, provider: int) -> threading.Thread:
    def body() -> None:
        try:
            close_old_connections()
            keep(question, put(question), timezone.now())
        except Exception:  # the row is due again after its lease
            log.exception("could not keep what %s said", question.name)
        finally:
            PLACES.leave(provider)
            connections.close_all()

    return threading.Thread(target=body, name=f"provider {question.name}", daemon=True)


def put(question: ProviderQuestion, send: Callable[..., bytes] = post) -> Came:
    """Put a claimed question to its provider over the network, and read what comes. Touches no table."""
    provider = question.provider
    if provider is None:
        return Came("nobody is asked there any more")
    adapter = next((one for one in ADAPTERS if one.name == provider.kind), None)
    if adapter is None:
        return Came(f"nothing is known of its kind {provider.kind!r}")
    asked = asked_of(question)
    try:
        credential = credential_named(provider.credential)
        body = send(
            provider.address.rstrip("/") + adapter.path(),
            json.dumps(adapter.write(asked), allow_nan=False).encode(),
            credential.authorization,
            credential.authorities,
            provider.timeout_seconds,
        )
        nothing = Answer(provider.name, about=asked.fingerprint)
        answer = adapter.read(read_object(body), asked, provider.name) if body else nothing
    except NothingYet as trouble:
        return Came(str(trouble), again=True)
    except (NoAnswer, StoreTrouble) as trouble:
        return Came(str(trouble))
    except Exception as error:  # whatever a hostile answer finds: ours stands
        log.exception("the answer of %s could not be read", provider.name)
        return Came(f"its answer could not be read ({type(error).__name__})")
    return Came(in_words(answer), answer)


def in_words(answer: Answer) -> str:
    """`hardware.gpu cuda.ecc on n03, with a confidence of 0.60: Seen last week`: what an answer says."""
    cause = " ".join(filter(None, (answer.layer, answer.signature))) or "no cause"
    where = (
        f" on {', '.join(answer.hosts[:4])}{' and others' if len(answer.hosts) > 4 else ''}" if answer.hosts else ""
    )
    sure = "" if answer.confidence is None else f", with a confidence of {answer.confidence:.2f}"
    return f"{cause}{where}{sure}{': ' if answer.sentence else ''}{answer.sentence.rstrip('. ')}"
