"""How does a controller of the same process speak to the Advisor API? Its own client, without the network."""

from pathlib import Path

from django.test import Client

from controller.client import Advisor, _understood

URL = "http://localhost"


class InProcessAdvisor(Advisor):
    """The controller's client, each request of which is answered by the site's own views."""

    def __init__(self, cluster: str, token_file: Path) -> None:
        super().__init__(URL, cluster, token_file)
        self._site = Client(raise_request_exception=False, SERVER_NAME="localhost")

    def _once(self, method: str, target: str, content: bytes | None) -> dict[str, object]:
        answer = self._site.generic(
            method,
            target,
            content or b"",
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {self._token}",
            HTTP_ACCEPT="application/json",
        )
        return _understood(answer.status_code, answer.content)
