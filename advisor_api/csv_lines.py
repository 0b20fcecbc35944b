"""How is a line of a table written that leaves the site, so that a spreadsheet runs nothing of it?"""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

DANGEROUS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # a spreadsheet would take the cell for a formula


def csv_line(values: Iterable[object]) -> str:
    """The values as one line: none is empty, times are UTC, what a spreadsheet would run has a quote before it."""
    written = io.StringIO()
    csv.writer(written).writerow([_cell(value) for value in values])
    return written.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, str) and value.startswith(DANGEROUS):
        return f"'{value}"
    return value
