"""How does somebody read the console and the Advisor API, and make a policy?"""

import http.cookiejar
import json
import re
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from lab.parts.running import expect

POLICIES = "/admin/advisor_api/policyversion/"
VERSION = re.compile(r"/policyversion/(\d+)/change/")
SEEN = re.compile(r'name="number_seen" value="(\d+)"')
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Person:
    """Somebody signed in to the console with a browser's cookies. `address` is one of ours, on the loopback."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies)).open

    def sign_in_once(self, path: str) -> None:
        """Use the one-time link: look at its page, post its form."""
        page = self.get(path)
        token = TOKEN.search(page)
        expect(token, page)
        self.post(path, {"csrfmiddlewaretoken": token.group(1) if token else ""})
        expect(any(cookie.name == "sessionid" for cookie in self.cookies), "signed in")

    def get(self, path: str) -> str:
        """A page as text."""
        with self._open(self.address + path, timeout=90) as answer:
            return str(answer.read().decode())

    def post(self, path: str, form: Mapping[str, str]) -> str:
        """A form's answer as text."""
        body = urllib.parse.urlencode(dict(form)).encode()
        request = urllib.request.Request(  # noqa: S310  # our own address
            self.address + path, body, {"Referer": self.address + path}
        )
        with self._open(request, timeout=90) as answer:
            return str(answer.read().decode())

    def ask(self, path: str, **query: object) -> dict[str, Any]:
        """An answer of the Advisor API."""
        encoded = urllib.parse.urlencode(query, doseq=True)
        return dict(json.loads(self.get(f"{path}?{encoded}")))

    def attempts(self, cluster: str, number: object) -> list[dict[str, Any]]:
        """All attempts of a job number, by index."""
        jobs = self.ask(f"/v1/jobs/by-scheduler-id/{number}", cluster=cluster)["jobs"]
        return sorted(jobs, key=lambda job: int(job["attemptIndex"]))

    def trail(self, cluster: str, number: object) -> list[dict[str, Any]]:
        """All events of a job number, oldest first."""
        items: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.ask(
                "/v1/audit/events",
                cluster=cluster,
                jobId=number,
                sortBy="event_produced_at:asc",
                limit=100,
                **({"cursor": cursor} if cursor else {}),
            )
            items += page["items"]
            cursor = page.get("cursor", "")
            if not cursor or not page["items"]:
                return items

    def set_policy(self, values: Mapping[str, Any], note: str) -> None:
        """Make a policy the active one of all clusters, as an administrator does: two forms of the admin."""
        form = {"cluster": "", "partition": "", "user": "", "values": json.dumps(dict(values)), "note": note}
        self._fill_in(f"{POLICIES}add/", form)
        newest = max(int(number) for number in VERSION.findall(self.get(POLICIES)))
        activate = f"{POLICIES}{newest}/activate/"
        seen = SEEN.search(self.get(activate))
        expect(seen, "the admin offers to activate the policy")
        self._fill_in(activate, {"number_seen": seen.group(1) if seen else "", "reason": note})

    def _fill_in(self, path: str, form: Mapping[str, str]) -> None:
        """Post a form of the admin; it must be taken."""
        token = TOKEN.search(self.get(path))
        expect(token, f"{path} shows a form")
        answer = self.post(path, {"csrfmiddlewaretoken": token.group(1) if token else "", **form})
        expect("errornote" not in answer and "errorlist" not in answer, f"{path} refuses {form}")


def told(trail: Sequence[Mapping[str, Any]]) -> str:
    """A trail as text, for whoever waited for something in vain."""
    return "\n".join(f"{event['attemptIndex']} {event['eventType']}: {event['sentence']}" for event in trail)


def types(trail: Sequence[Mapping[str, Any]]) -> list[str]:
    """The types of a trail's events, in order."""
    return [event["eventType"] for event in trail]
