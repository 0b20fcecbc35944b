"""How do squeue and sinfo lay out columns? `-O Name:20,State:.9,JobID:|` and `-o '%.18i|%T'`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")

DEFAULT_WIDTH = 20  # of a column of -O without a colon


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """A column that can be asked for: its heading and how its text is found."""

    heading: str
    text: Callable[[Row], str]


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column as asked for: `width` 0 means neither filled nor cut."""

    field: Field[Row]
    width: int = 0
    right: bool = False
    suffix: str = ""

    def lay(self, text: str) -> str:
        """The text filled or cut to the width, and what stands behind it."""
        if not self.width:
            return text + self.suffix
        cut = text[: self.width]
        return (cut.rjust(self.width) if self.right else cut.ljust(self.width)) + self.suffix


@dataclass(frozen=True, slots=True)
class Layout(Generic[Row]):
    """All columns, what stands before the first one, and what Slurm complained about."""

    columns: tuple[Column[Row], ...]
    prefix: str = ""
    complaints: tuple[str, ...] = ()

    def heading(self) -> str:
        """The line of headings."""
        return self.prefix + "".join(column.lay(column.field.heading) for column in self.columns) + "\n"

    def line(self, row: Row) -> str:
        """One record."""
        return self.prefix + "".join(column.lay(column.field.text(row)) for column in self.columns) + "\n"

    def table(self, rows: Sequence[Row], heading: bool) -> str:
        """All records, with the headings when they are wanted."""
        first = self.heading() if heading else ""
        if any(column.width for column in self.columns):
            return first + "".join(self.line(row) for row in rows)
        parts = [(column.field.text, column.suffix) for column in self.columns]  # as clients with borders ask
        lines = ["".join([text(row) + suffix for text, suffix in parts]) for row in rows]
        return first + "".join(f"{self.prefix}{line}\n" for line in lines)


def long_layout(text: str, fields: Mapping[str, Field[Row]], command: str) -> Layout[Row]:
    """A layout of `-O`; an unknown name is complained about and left out, as Slurm does (rc 0, observed)."""
    columns, complaints = [], []
    for part in text.split(","):
        name, colon, rest = part.partition(":")
        field = fields.get(name.lower())
        if field is None:
            complaints.append(f"{command}: error: Invalid job format specification: {name}\n")
            continue
        told = re.match(r"(\.?)([0-9]{0,6})", rest)
        right, width = (told[1], told[2]) if told else ("", "")
        suffix = rest[len(right) + len(width) :]
        columns.append(Column(field, int(width or 0) if colon else DEFAULT_WIDTH, bool(right), suffix))
    return Layout(tuple(columns), "", tuple(complaints))


def short_layout(text: str, fields: Mapping[str, Field[Row]], command: str) -> Layout[Row]:
    """A layout of `-o`: `%[[.]width]letter`, and what stands between."""
    prefix, *parts = text.split("%")
    columns, complaints = [], []
    for part in parts:
        told = re.match(r"(\.?)([0-9]{0,6})(.?)", part, re.DOTALL)
        right, width, letter = told.groups() if told else ("", "", "")
        suffix = part[len(right) + len(width) + len(letter) :]
        if letter not in fields:
            complaints.append(f"{command}: error: Invalid job format specification: {letter}\n")
            continue
        columns.append(Column(fields[letter], int(width or 0), bool(right), suffix))
    return Layout(tuple(columns), prefix, tuple(complaints))
