"""What stands in a pickle that a job has written? Builtin containers and scalars, or nothing at all.

A pickle is a program, and its ordinary reader runs it. This one knows the opcodes that build dictionaries, lists,
tuples, strings, numbers, booleans and nothing; every other one ends the reading with a sentence, whatever it would
have done. It looks no name up, calls nothing, and counts what it makes. Tuples become lists, so that nothing nested
is ever hashed; keys are strings and whole numbers.
"""

import re
import struct
from collections.abc import Collection
from typing import Any

LARGEST = 64 << 20  # bytes of one dump; the recorder's default of 2,000 entries takes 1 to 10 MB
MOST_THINGS = 8_000_000  # opcodes; a dump of 20,000 entries has 2 million
DEEPEST = 64  # containers begun in containers; a dump has 6
LONGEST_TEXT = 1 << 20  # bytes of one string
LONGEST_WHOLE = 16  # bytes of one whole number

REFUSED = {
    b"c": "GLOBAL",
    b"\x93": "STACK_GLOBAL",
    b"i": "INST",
    b"o": "OBJ",
    b"R": "REDUCE",
    b"b": "BUILD",
    b"\x81": "NEWOBJ",
    b"\x92": "NEWOBJ_EX",
    b"P": "PERSID",
    b"Q": "BINPERSID",
    b"\x82": "EXT1",
    b"\x83": "EXT2",
    b"\x84": "EXT4",
    b"\x97": "NEXT_BUFFER",
    b"\x98": "READONLY_BUFFER",
}
"""Opcodes that name a class, call something or ask whoever reads."""

_PLAIN = rb"(?:h.|j.{4}|K.|M..|J.{4}|N)"
_ROW = rb"\}(?:q.|r.{4})?+(?:\((?:" + _PLAIN + rb"){0,64}+u|(?:" + _PLAIN + rb"){2}s)"
_ROWS = re.compile(
    rb"\](?:q.|r.{4})?+(?:\((?:" + _ROW + rb"|h.|j.{4}){0,4096}+e|(?:" + _ROW + rb"|h.|j.{4})a)", re.DOTALL
)
"""A list of dictionaries, or of texts, that holds nothing but numbers and what was said before.

Bounded, and each part of it begins with a byte of its own: nothing is looked at twice.
"""

BROKEN = "the pickle breaks off or is damaged"
_STOP = 0x2E
_FLOAT = struct.Struct(">d")
_WORD = struct.Struct("<I")
_KEYS = {str, int}


class BadDump(ValueError):
    """It is not read; the message is a part of a sentence, without the file's name."""


def values_of(content: bytes, unneeded: Collection[str] = (), most: int = MOST_THINGS) -> Any:
    """The value of a pickle (protocols 2 to 5) of builtin containers and scalars. Raises `BadDump`.

    `unneeded`: keys whose lists need not be built. They are passed over, and empty then, where one look at them is
    enough; others are built all the same. Where what was passed over is spoken of again, all is built.
    `most`: opcodes that are followed.
    """
    if len(content) > LARGEST:
        raise BadDump(f"a dump may have {LARGEST >> 20} MiB")
    if unneeded:
        try:
            return _value_of(content, unneeded, most)
        except BadDump:
            pass
    return _value_of(content, (), most)


def _value_of(content: bytes, unneeded: Collection[str], most: int) -> Any:
    try:
        return _Machine(content, unneeded, most).run()
    except (IndexError, KeyError, struct.error):
        raise BadDump(BROKEN) from None


class _Machine:
    """The stack, the marks in it, and what was remembered by number."""

    def __init__(self, content: bytes, unneeded: Collection[str], most: int) -> None:
        self.content = content
        self._most = most
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self._unneeded = frozenset(unneeded)

    def run(self) -> Any:  # noqa: C901 - a flat list of the commonest opcodes: there are millions of them
        """To the end."""
        content, memo, stack, marks, steps = self.content, self.memo, self.stack, self.marks, _STEPS
        unneeded = self._unneeded
        at, push, left = 0, stack.append, min(len(content), self._most)
        for _ in range(left):
            code = content[at]
            at += 1
            if code == 0x68:  # BINGET
                push(memo[content[at]])
                at += 1
            elif code == 0x72:  # LONG_BINPUT
                memo[_WORD.unpack_from(content, at)[0]] = stack[-1]
                at += 4
            elif code == 0x94:  # MEMOIZE
                memo[len(memo)] = stack[-1]
            elif code == 0x4B:  # BININT1
                push(content[at])
                at += 1
            elif code in (0x5D, 0x29):  # EMPTY_LIST, EMPTY_TUPLE
                key = stack[-1] if stack else None
                if type(key) is str and key in unneeded and (rows := _ROWS.match(content, at - 1)) is not None:
                    at = rows.end()
                push([])
            elif code == 0x28 and len(marks) < DEEPEST:  # MARK
                marks.append(len(stack))
            elif code == 0x8A and content[at] <= LONGEST_WHOLE:  # LONG1
                end = at + 1 + content[at]
                push(int.from_bytes(content[at + 1 : end], "little", signed=True))
                at = end
            elif code == 0x6A:  # LONG_BINGET
                push(memo[_WORD.unpack_from(content, at)[0]])
                at += 4
            else:
                self.at = at
                step = steps.get(code)
                if step is None:
                    return self._last(code)
                step(self)
                at = self.at
        raise BadDump("the pickle builds too much" if left == self._most else BROKEN)

    def _last(self, code: int) -> Any:
        """The end, or what no dump has."""
        if code == _STOP:
            if self.at > len(self.content) or len(self.stack) != 1 or self.marks:
                raise BadDump(BROKEN)
            return self.stack[0]
        name = REFUSED.get(bytes([code]))
        if name is not None:
            raise BadDump(f"it is a pickle that wants to run something ({name}): nothing of it was run")
        raise BadDump(f"the pickle holds what no dump has (opcode {code:#04x})")

    def number(self, size: int) -> int:
        """A length or a place of so many bytes, least first."""
        part = self.content[self.at : self.at + size]
        if len(part) < size:
            raise IndexError
        self.at += size
        return int.from_bytes(part, "little")

    def text(self, size: int) -> None:
        """A string of so many bytes; what is no UTF-8 is replaced."""
        if size > LONGEST_TEXT:
            raise BadDump("the pickle holds a string that no dump has")
        part = self.content[self.at : self.at + size]
        if len(part) < size:
            raise IndexError
        self.at += size
        self.stack.append(part.decode("utf-8", "replace"))

    def whole(self, size: int) -> None:
        """A whole number with its sign."""
        if size > LONGEST_WHOLE:
            raise BadDump("the pickle holds a number that no dump has")
        part = self.content[self.at : self.at + size]
        if len(part) < size:
            raise IndexError
        self.at += size
        self.stack.append(int.from_bytes(part, "little", signed=True))

    def too_deep(self) -> None:
        """Containers begun in containers, without end."""
        raise BadDump("the pickle is nested too deeply")

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark, taken off."""
        begin = self.marks.pop()
        part = self.stack[begin:]
        del self.stack[begin:]
        return part

    def append(self, items: list[Any]) -> None:
        """To the list below."""
        below = self._below()
        if not isinstance(below, list):
            raise BadDump("the pickle is damaged: it appends to what is no list")
        below.extend(items)

    def put(self, items: list[Any]) -> None:
        """Keys and values, in turn, into the dictionary below."""
        below = self._below()
        if not isinstance(below, dict) or len(items) % 2:
            raise BadDump("the pickle is damaged: it fills what is no dictionary")
        keys = items[::2]
        if not set(map(type, keys)) <= _KEYS:
            raise BadDump("the pickle has keys that no dump has")
        below.update(zip(keys, items[1::2], strict=True))

    def collect(self, count: int) -> None:
        """The last few as one tuple."""
        self._above_mark(count)
        part = self.stack[-count:]
        del self.stack[-count:]
        self.stack.append(part)

    def pop(self, count: int) -> list[Any]:
        """The last few, taken off."""
        self._above_mark(count)
        part = self.stack[-count:]
        del self.stack[-count:]
        return part

    def remember(self, place: int) -> None:
        """The last value, by number. The memo is a dictionary: no number is too large for the memory."""
        self.memo[place] = self.stack[-1]

    def _below(self) -> Any:
        self._above_mark(1)
        return self.stack[-1]

    def _above_mark(self, count: int) -> None:
        if len(self.stack) - (self.marks[-1] if self.marks else 0) < count:
            raise IndexError


def _protocol(machine: _Machine) -> None:
    if not 2 <= machine.number(1) <= 5:
        raise BadDump("the pickle has a protocol that is not known")


def _float(machine: _Machine) -> None:
    machine.stack.append(_FLOAT.unpack_from(machine.content, machine.at)[0])
    machine.at += 8


def _frame(machine: _Machine) -> None:
    machine.number(8)  # frames only help whoever reads from a slow source


_STEPS: dict[int, Any] = {
    0x80: _protocol,
    0x95: _frame,
    0x71: lambda machine: machine.remember(machine.number(1)),
    0x28: lambda machine: machine.too_deep(),
    0x75: lambda machine: machine.put(machine.since_mark()),
    0x73: lambda machine: machine.put(machine.pop(2)),
    0x65: lambda machine: machine.append(machine.since_mark()),
    0x61: lambda machine: machine.append(machine.pop(1)),
    0x74: lambda machine: machine.stack.append(machine.since_mark()),
    0x85: lambda machine: machine.collect(1),
    0x86: lambda machine: machine.collect(2),
    0x87: lambda machine: machine.collect(3),
    0x7D: lambda machine: machine.stack.append({}),
    0x4E: lambda machine: machine.stack.append(None),
    0x88: lambda machine: machine.stack.append(True),
    0x89: lambda machine: machine.stack.append(False),
    0x4D: lambda machine: machine.stack.append(machine.number(2)),
    0x4A: lambda machine: machine.whole(4),
    0x8A: lambda machine: machine.whole(machine.number(1)),
    0x47: _float,
    0x58: lambda machine: machine.text(machine.number(4)),
    0x8C: lambda machine: machine.text(machine.number(1)),
}
"""Every opcode that is known, but for those in `_Machine.run`."""
