"""Which faults change how the following steps go, instead of breaking one?"""

from lab.simulate.play import Fault

LASTING = frozenset({"slow", "nan", "no_save"})


def touches(fault: Fault, step: int) -> bool:
    """Whether a lasting fault concerns this step: from `step` to `until`, each `every`-th."""
    if step < fault.step or (fault.until is not None and step > fault.until):
        return False
    return not fault.every or (step - fault.step) % fault.every == 0


def pace(fault: Fault, step: int) -> float:
    """By what a slow step takes longer."""
    return max(fault.factor + fault.growth * (step - fault.step), 0.0)
