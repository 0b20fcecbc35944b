"""Which options did a command get? An unknown one is an error in the words of the C library, never ignored."""

import getopt
from collections.abc import Sequence
from dataclasses import dataclass

VERSION = "22.05.8"

Answer = tuple[int, str, str]  # return code, stdout, stderr


class BadOption(Exception):
    """The text that the command prints to stderr."""


@dataclass(frozen=True, slots=True)
class Options:
    """`given` maps the long name of an option to its last value, "" for a flag; `words` are the arguments."""

    given: dict[str, str]
    words: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether the option was given."""
        return name in self.given

    def get(self, name: str, default: str = "") -> str:
        """Its value."""
        return self.given.get(name, default)

    def listed(self, name: str) -> list[str]:
        """Its value as a list separated by commas."""
        return [word.strip() for word in self.get(name).split(",") if word.strip()]


def read(command: str, argv: Sequence[str], known: dict[str, str], hint: bool = True) -> Options:
    """Options and words of `argv` (without the command's name); raises `BadOption`.

    `known` maps each long name, with `=` behind it when it takes a value, to its short letter or "".
    """
    short = "".join(letter + (":" if name.endswith("=") else "") for name, letter in known.items() if letter)
    of_letter = {letter: name.rstrip("=") for name, letter in known.items() if letter}
    try:
        pairs, words = getopt.gnu_getopt(list(argv), short, list(known))
    except getopt.GetoptError as error:
        end = f'\nTry "{command} --help" for more information\n' if hint else "\n"
        raise BadOption(f"{command}: {_complaint(error, argv)}{end}") from None
    given = {(name[2:] if name.startswith("--") else of_letter[name[1:]]): value for name, value in pairs}
    return Options(given, tuple(words))


def _complaint(error: getopt.GetoptError, argv: Sequence[str]) -> str:
    name = error.opt
    is_long = any(word == f"--{name}" or word.startswith(f"--{name}=") for word in argv)
    if "requires argument" in error.msg:
        return f"option '--{name}' requires an argument" if is_long else f"option requires an argument -- '{name}'"
    if "not recognized" in error.msg:
        return f"unrecognized option '--{name}'" if is_long else f"invalid option -- '{name}'"
    return f"option '--{name}': {error.msg}"  # a flag with a value, or a name that could be several
