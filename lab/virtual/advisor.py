"""How does a controller of the same process speak to the Advisor API? Its own client, without the network."""

from pathlib import Path

from django.test import Client

from controller.client import Advisor, Unreachable, _understood
from lab.virtual.fate import SITE, Fate, Killed
from lab.virtual.mortal import forget_the_dead

URL = "http://localhost"
ANSWERING = SITE + "answering"


class InProcessAdvisor(Advisor):
    """The controller's client, each request of which is answered by the site's own views."""

    def __init__(self, cluster: str, token_file: Path, fate: Fate) -> None:
        super().__init__(URL, cluster, token_file)
        self._fate = fate
        self._site = Client(raise_request_exception=False, SERVER_NAME="localhost")

    def _once(self, method: str, target: str, content: bytes | None) -> dict[str, object]:
        with self._fate.step("request"):
            try:
                with self._fate.acting(ANSWERING):
                    answer = self._site.generic(
                        method,
                        target,
                        content or b"",
                        content_type="application/json",
                        HTTP_AUTHORIZATION=f"Bearer {self._token}",
                        HTTP_ACCEPT="application/json",
                    )
            except Killed as killed:
                if killed.part != ANSWERING:
                    raise
                self._fate.revive(ANSWERING)  # the next request finds another web process
                forget_the_dead()
                raise Unreachable("no answer from the Advisor: the connection was closed") from None
        return _understood(answer.status_code, answer.content)
