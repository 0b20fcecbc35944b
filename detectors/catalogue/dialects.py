"""Which step does a progress line report? The dialects of the reference, 4.15, and a few of our own.

A dialect is a counter of its own; the numbers of two dialects are never compared. Most catch the step as `i`; what
is special about the others stands here.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from detectors.catalogue.hits import Hit
from detectors.catalogue.numerals import LARGEST

STEPS, BARS, EPOCHS = 0, 1, 2
PLAIN_DIGITS = 15  # a number of so many digits is the same as a float
LONGEST_STEP_SECONDS = 7 * 86400.0

_LOSS = re.compile(
    r"[Ll]oss(?:/train/total)?['\"]?(?:\s{0,3}[:=|]\s{0,6}| )'?"
    r"(?P<loss>-?\d[\d.]{0,20}(?:[eE][+\-]?\d{1,3})?|nan|NaN|-?inf)\b"
)
_LOSS_NAMES = (
    "lm ",
    "lm_",
    "total_",
    "train_",
    "reduced_train_",
    "actor/pg_",
)  # what may stand before it without a gap
_GLOBAL_STEP = re.compile(r"\bglobal_step: ?(\d{1,12})\b", re.ASCII)
_UPDATES = re.compile(r"\bnum_updates=(\d{1,12})\b", re.ASCII)
_SECONDS = re.compile(
    r"(?:train_step_timing in s|timing_s/step|'train_speed\(s/it\)'): ?([\d.]{1,12})"
    r"|'train_speed\(iter/s\)': ?([\d.]{1,12})"
)
_EPOCH_BAR = re.compile(r"[Ee]poch[ :=#]{0,3}\[?(\d{1,6})")
_TRAINING_BAR = re.compile(r"\s*(?:\S{0,40}\b(?:[Ee]poch|[Tt]rain\w*|[Ss]teps?|[Ii]ter\w*)\b|$|\d)", re.ASCII)
_TOKENS = re.compile(
    r"(?:tokens?_per_(?:sec|second|gpu_per_sec)\w{0,16}['\"]?\s?[:=]\s?"
    r"|throughput/device/TPS=|perf/throughput:|\bwps=)([\d.,]{1,20}[KMB]?)",
    re.ASCII,
)
_TOKEN_SIGNS = ("_per_", "TPS=", "throughput:", "wps=")  # one of them stands in every match: quicker to look for
_TFLOPS = re.compile(r"\btflops: ?([\d.,]{1,20})", re.ASCII)
_TFLOP_SIGNS = ("tflops:",)
_SKIPPED = re.compile(r"number of skipped iterations:\s{0,6}[1-9]")
_FIELDS = ("| learning rate:", "| loss scale:", "| number of nan iterations:")
"""Every step line of Megatron's relatives has them: one with these and without a loss has left it out."""
_RANKS = {
    "prog.tqdm": BARS,
    "prog.keras": BARS,
    **dict.fromkeys(("prog.epoch", "prog.epoch_begins", "prog.epoch_loss", "prog.epoch_json"), EPOCHS),
}
COMPANIONS = frozenset({"prog.hf", "prog.composer_values", "prog.olmo_values"})
"""Lines with the values of the step that the line before them reported."""
_SUFFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}


class Told(NamedTuple):
    """What one progress line tells. A named tuple, as all that is made for each line.

    `dialect` names the counter; empty when the line shows activity (a bar of an evaluation or a download) and no
    step. `seconds`: of one step. `nan`: the loss is not a number; `None` when the line reports no loss. `rank`: how
    good a clock the dialect is, the lower the better. `tokens` and `tflop`: work a second, of one GPU or of all, as
    the dialect counts it. `companion`: its values are those of the last step.
    """

    dialect: str = ""
    step: int | None = None
    total: int | None = None
    seconds: float | None = None
    loss: float | None = None
    nan: bool | None = None
    rank: int = STEPS
    tokens: float | None = None
    tflop: float | None = None
    companion: bool = False

    @property
    def rate(self) -> float | None:
        """Work a second: only what does not change with the length of a sequence."""
        return self.tokens if self.tokens is not None else self.tflop

    @property
    def values(self) -> bool:
        """Whether it tells a loss or work."""
        return self.nan is not None or self.rate is not None


def told(hit: Hit, text: str) -> Told:
    """What a line with a signature of kind `progress` tells."""
    name, words = hit.signature.id, hit.words
    special = _SPECIAL.get(name)
    dialect, step, total = special(words, text) if special else _plain(name, words)
    loss, nan = _loss(name, text)
    seconds, rank = _seconds(words, text), _RANKS.get(name, STEPS)
    tokens = _work(words.get("tps") or words.get("tk"), _TOKENS, _TOKEN_SIGNS, text)
    tflop = _work(words.get("tf"), _TFLOPS, _TFLOP_SIGNS, text)
    return Told(dialect, step, total, seconds, loss, nan, rank, tokens, tflop, name in COMPANIONS)


Place = tuple[str, int | None, int | None]


def _plain(name: str, words: Mapping[str, str]) -> Place:
    step = _count(words.get("i"))
    return (name if step is not None else ""), step, _count(words.get("n"))


def _bar(words: Mapping[str, str], text: str) -> Place:
    """A progress bar counts training steps only when its title says so or when it has none."""
    title = text[: max(0, text.find(f"{words['pct']}%|"))].strip()
    step, total = _count(words.get("i")), _count(words.get("n"))
    if _TRAINING_BAR.match(title) is None or step is None or not total:
        return "", None, None
    epoch = _EPOCH_BAR.search(title)
    return f"prog.tqdm/{total}", step + (int(epoch[1]) * total if epoch else 0), None if epoch else total


def _epochs(words: Mapping[str, str], text: str) -> Place:
    """Counters that start again with every epoch."""
    step, total, epoch = _count(words.get("i")), _count(words.get("n")), _count(words.get("e")) or 0
    return "prog.meters", None if step is None else epoch * (total or 0) + step, None


def _nemo(words: Mapping[str, str], text: str) -> Place:
    found = _GLOBAL_STEP.search(text)
    if found is not None:
        return "prog.nemo2", int(found[1]), None
    _, step, _ = _epochs(words, text)
    return "prog.nemo2", step, None


def _fairseq(words: Mapping[str, str], text: str) -> Place:
    found = _UPDATES.search(text)
    _, step, _ = _epochs(words, text)
    return "prog.fairseq", int(found[1]) if found is not None else step, None


def _composer(words: Mapping[str, str], text: str) -> Place:
    if "i" in words:
        return "prog.composer", _count(words["i"]), _count(words.get("n"))
    batch, batches = _count(words.get("b")), _count(words.get("bn"))
    if batch is None:
        return "", None, None
    epoch = max(0, (_count(words.get("e")) or 1) - 1)
    return "prog.composer", epoch * (batches or 0) + batch, None


def _keras(words: Mapping[str, str], text: str) -> Place:
    """A bar that starts again with every epoch; one of an evaluation has another length."""
    step, total = _count(words.get("i")), _count(words.get("n"))
    return ("" if step is None else f"prog.keras/{total}"), step, None


def _begun(name: str) -> Callable[[Mapping[str, str], str], Place]:
    """A heading: what it announces is not done, what came before it is."""

    def place(words: Mapping[str, str], text: str) -> Place:
        count = _count(words.get("i"))
        return (name, count - 1, _count(words.get("n"))) if count is not None and count > 1 else ("", None, None)

    return place


def _no_step(words: Mapping[str, str], text: str) -> Place:
    return "", None, None


_SPECIAL: dict[str, Callable[[Mapping[str, str], str], Place]] = {
    "prog.tqdm": _bar,
    "prog.meters": _epochs,
    "prog.nemo2": _nemo,
    "prog.fairseq": _fairseq,
    "prog.composer": _composer,
    "prog.keras": _keras,
    **{name: _begun(name) for name in ("prog.epoch_begins", "prog.step_begins")},
    **dict.fromkeys(COMPANIONS, _no_step),
    "prog.megatron_eval": _no_step,
}


def _loss(name: str, text: str) -> tuple[float | None, bool | None]:
    """The loss when it is a number, and whether it is none.

    Megatron leaves the field out when the loss is not a number, but also while it searches its loss scale.
    """
    for found in _LOSS.finditer(text):
        if _is_training_loss(text, found.start()):
            break
    else:
        megatron = name == "prog.megatron" or (name == "prog.iteration" and all(field in text for field in _FIELDS))
        return None, True if megatron and _SKIPPED.search(text) is None else None
    word = found["loss"]
    value = float(word) if word.count(".") < 2 else math.nan
    return (value, False) if math.isfinite(value) else (None, True)


def _is_training_loss(text: str, start: int) -> bool:
    """Whether the word that ends here is the loss of training, not `eval_loss` or a part of it."""
    before = text[max(0, start - 16) : start]
    return not before or before.endswith(_LOSS_NAMES) or not (before[-1].isalnum() or before[-1] in "_/")


def _seconds(words: Mapping[str, str], text: str) -> float | None:
    """Seconds of one step, when the line tells them."""
    value = None
    if "ms" in words:
        value = _scaled(words["ms"], 0.001)
    elif "t" in words and "unit" in words:
        value = _scaled(words["t"], 0.001 if words["unit"] == "ms" else 1.0)
    elif "s" in words:
        value = _scaled(words["s"], 1.0)
    elif "u" in words and (rate := _scaled(words.get("rate", ""), 1.0)):
        value = rate if words["u"] == "s/it" else 1.0 / rate
    elif (found := _SECONDS.search(text)) is not None:
        speed = _scaled(found[2], 1.0) if found[2] else None
        value = 1.0 / speed if speed else _scaled(found[1] or "", 1.0)
    return value if value is not None and 0 < value <= LONGEST_STEP_SECONDS else None


def _work(word: str | None, otherwise: re.Pattern[str], signs: tuple[str, ...], text: str) -> float | None:
    """Work done a second, by the pattern's own word or by one that stands elsewhere in the line."""
    if not word:
        if not any([sign in text for sign in signs]) or (found := otherwise.search(text)) is None:
            return None
        word = found[1]
    rate = _scaled(word.replace(",", ""), 1.0) if word else None
    return rate if rate is not None and 0 < rate < math.inf else None


def _scaled(word: str, unit: float) -> float | None:
    """A number that may end with k, K, M or B."""
    scale = _SUFFIXES.get(word[-1:], 1.0)
    try:
        return float(word.rstrip("kKMB")) * scale * unit
    except ValueError:
        return None


def _count(word: str | None) -> int | None:
    if word and len(word) <= PLAIN_DIGITS and word.isascii() and word.isdecimal():
        number = int(word)
        return number if number <= LARGEST else None
    value = _scaled(word, 1.0) if word else None
    return int(value) if value is not None and 0 <= value <= LARGEST else None
