"""What does srun say when the tasks of a job end?"""

from collections.abc import Collection, Iterator

from lab.texts.struck import Spoken, Struck, say

WAIT_SECONDS = 62  # KillWait of 60 s, and two more


def torn_down(
    struck: Struck, first: Collection[int], how: str, after: float, others_end: str = "Terminated"
) -> tuple[Spoken, ...]:
    """The ranks `first` end by themselves (`how`: `Exited with exit code 1`, …), then srun ends the others.

    Those obey SIGTERM unless they are stuck: then it takes SIGKILL (`others_end` is `Killed`).

    srun prints the tasks of a node that ended alike in one line.
    """
    others = set(range(struck.ranks)) - set(first)
    aborted = f"srun: Job step aborted: Waiting up to {WAIT_SECONDS} seconds for job step to finish."
    return (
        *say(after, *_told(struck, set(first), how)),
        *say(after + 0.5, aborted),
        *say(after + 1.5, *_told(struck, others, others_end)),
    )


def _told(struck: Struck, ranks: set[int], how: str) -> Iterator[str]:
    for place, host in enumerate(struck.nodes):
        own = sorted(ranks & set(range(place * struck.gpus, (place + 1) * struck.gpus)))
        if own:
            yield f"srun: error: {host}: task{'s' * (len(own) > 1)} {_spans(own)}: {how}"


def _spans(numbers: list[int]) -> str:
    """`3,5-7` for 3, 5, 6 and 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)
