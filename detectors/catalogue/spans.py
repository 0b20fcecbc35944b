"""How is a span of time said to an operator?"""


def spoken(seconds: float) -> str:
    """`90 s`, `12 min`, `2.5 h`."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
