"""What does a failed command mean: nothing happened, or nobody knows?

Slurm has no error codes at its commands, only texts (tests/schedulers/recorded holds them).
"""

from schedulers.port import Garbled, NoAccounting, NoSuchJob, Refused, SchedulerError, Unclear, Unreachable
from schedulers.transport import Answer

UNKNOWN_JOB = ("Invalid job id specified", "Invalid job id:")  # the second: beyond the numbers there can be
NO_ACCOUNTING = "Slurm accounting storage is disabled"
UNKNOWN_COLUMN = "Invalid job format specification"  # squeue leaves the column out and ends with 0

REFUSALS = (
    "Job is pending execution",
    "Job is no longer pending execution",
    "Job has already finished",
    "Job/step already completing or completed",
    "Requested operation is presently disabled",
    "Only batch jobs are accepted or processed",
    "Job not heterogeneous job leader",
    "Access/permission denied",
    "Invalid user id",
    "Invalid node name specified",
    "Pathname of a file, directory or other parameter too long",
    "Update of this parameter is not supported",
    "Job update not available right now",
    "forced command refused",  # that of deploy/forced_command.py: it ran nothing
)

SILENCE = (
    "Unable to contact slurm controller",
    "Unexpected message received",
    "Socket timed out",
    "Zero Bytes were transmitted or received",
    "Could not establish a configuration source",
    "Incompatible versions of client and server code",
    "Problem talking to the database",
    "Connection refused",
)
NO_ANSWER_AT_ALL = 255  # of ssh, whatever its text


def is_no_answer(answer: Answer) -> bool:
    """Whether a question failed, also behind a return code of 0."""
    nothing_but_errors = bool(answer.stderr.strip()) and not answer.stdout.strip()
    return answer.returncode != 0 or nothing_but_errors or UNKNOWN_COLUMN in answer.stderr


def is_done_in_part(answer: Answer) -> bool:
    """Whether some tasks of an array took it (`7_6,8-9: No error`) beside others that refused it."""
    text = _text(answer)
    return not _nobody_answered(answer, text) and ": No error" in text


def of_reading(argv: tuple[str, ...], answer: Answer) -> SchedulerError:
    """Why a question got no answer."""
    text = _text(answer)
    sentence = _sentence(argv, answer)
    if any(words in text for words in UNKNOWN_JOB):
        return NoSuchJob(sentence, text)
    if NO_ACCOUNTING in text:
        return NoAccounting("This Slurm keeps no accounting.", text)
    if _nobody_answered(answer, text):
        return Unreachable(sentence, text)
    return Garbled(sentence, text)


def of_action(argv: tuple[str, ...], answer: Answer) -> SchedulerError:
    """Whether a failed action was refused. Whatever we do not know for a refusal may have been carried out.

    Observed: with a hung controller scontrol says "Unexpected message received", and the action comes later.
    """
    text = _text(answer)
    sentence = _sentence(argv, answer)
    if _nobody_answered(answer, text):
        return Unclear(sentence, text)
    if any(words in text for words in UNKNOWN_JOB):
        return NoSuchJob(sentence, text)
    if any(words in text for words in REFUSALS):
        return Refused(sentence, text)
    return Unclear(sentence, text)


def _nobody_answered(answer: Answer, text: str) -> bool:
    killed = answer.returncode < 0
    return killed or answer.returncode == NO_ANSWER_AT_ALL or any(words in text for words in SILENCE)


def _text(answer: Answer) -> str:
    return f"{answer.stderr}{answer.stdout}"


def _sentence(argv: tuple[str, ...], answer: Answer) -> str:
    """`scontrol requeuehold: Job is pending execution for job 4`."""
    said = next((line.strip() for line in _text(answer).splitlines() if line.strip()), "no word")
    verb = " ".join(word for word in argv[:2] if not word.startswith("-"))
    return f"{verb} ended with {answer.returncode}: {said[:300]}"
