"""What does a request of each operation look like, and what comes back?

Real answers of a small cluster, kept as JSON beside this module; the tests hold each of them against its schema.
"""

import json
from pathlib import Path
from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "examples.json").read_text(encoding="utf-8")
)
"""By operationId: `answer` (the good one, where it is JSON), and `request` where there is a body."""
