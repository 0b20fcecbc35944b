"""How does a test ask for metrics without a server? Answers in Prometheus' own form, straight from an exporter.

`test_reading` holds it against the real one: both give the same snapshot.
"""

import json
import re
import time

from detectors.metrics import families
from detectors.stores.store import Answer, Request, StoreTrouble
from tests.detectors.metrics.exporter import Exporter

_ROW = re.compile(r"(\w+)\{(.*)\} (\S+)\Z")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_BY = re.compile(r"max by \(([\w,]+)\)")


class Pretend:
    """As `Ask`. `trouble`: what is raised instead; `answer`: what comes instead; `old`: age of every value (s)."""

    def __init__(self, exporter: Exporter) -> None:
        self.exporter = exporter
        self.trouble = ""
        self.answer: Answer | None = None
        self.old = 0.0
        self.asked = 0

    def __call__(self, request: Request) -> Answer:
        self.asked += 1
        if self.trouble:
            raise StoreTrouble(self.trouble)
        if self.answer is not None:
            return self.answer
        query, now = request.params["query"], time.time()
        rows = [found for line in self.exporter.page().splitlines() if (found := _ROW.match(line)) is not None]
        result = []
        for by in (set(labels.split(",")) for labels in _BY.findall(query)):
            for name, told, value in (row.groups() for row in rows):
                labels = {"__name__": name, **dict(_LABEL.findall(told))}
                kept = {label: text for label, text in labels.items() if label in by}
                if "timestamp" in query:
                    wanted, given = name == (families.UTIL if "gpu" in by else families.MEMORY), str(now - self.old)
                else:
                    wanted, given = name in re.findall(r'__name__=~"([^"]*)"', query)[0].split("|"), value
                if wanted:
                    result.append({"metric": kept, "value": [now, given]})
        body = {
            "status": "success",
            "data": {"resultType": "vector", "result": result if self.exporter.answers else []},
        }
        return Answer(200, json.dumps(body).encode())
