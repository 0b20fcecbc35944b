"""How are recorded answers given again?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schedulers.transport import Answer
from tests.schedulers.recording import BORDERS, recorded


@dataclass
class Replay:
    """Answers each command by the longest known beginning of its words, with a recorded answer or a given one.

    The borders of recorded listings become those that the command asks for.
    """

    version: str
    answers: Mapping[str, str | Answer | Exception]
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        self.calls.append(argv)
        line = " ".join(argv)
        known = max((words for words in self.answers if line.startswith(words)), key=len, default=None)
        assert known is not None, f"no answer to {line}"
        answer = self.answers[known]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            _, answer = recorded(self.version, answer)
        return replace(answer, stdout=bordered(answer.stdout, argv))


def bordered(text: str, argv: tuple[str, ...]) -> str:
    """The text with the borders of this command instead of the recorded ones."""
    for word in argv:
        if word.startswith("JobID:"):
            columns = word.split(",")
            text = text.replace(BORDERS.field, columns[0].partition(":")[2])
            return text.replace(BORDERS.record, columns[-1].partition(":")[2])
        if word.startswith("--delimiter="):
            return text.replace(BORDERS.field, word.partition("=")[2])
    return text
