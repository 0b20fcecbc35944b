"""The functions behind the panels, by the page they stand on: each takes what is asked and gives a context."""

from typing import Any

Context = dict[str, Any]
