"""Which number do the digits of a line mean?

A line may hold thousands of them. Python refuses to read those, and then the whole log was read no further.
"""

LARGEST = 10**12  # steps, ranks and codes beyond it were never seen, and every column holds it


def whole(digits: str) -> int | None:
    """The number, `None` when it is larger than `LARGEST` or no number of decimal digits."""
    shortened = digits.lstrip("0") or digits[-1:]
    if len(shortened) > len(str(LARGEST)) or not (shortened.isascii() and shortened.isdecimal()):
        return None
    number = int(shortened)
    return number if number <= LARGEST else None
