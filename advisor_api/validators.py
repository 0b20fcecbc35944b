"""Is what an operator typed into a policy's form usable?"""

from typing import Any

from django.core.exceptions import ValidationError

from advisor_api.policy.values import BadPolicy, read_policy


def policy_values(value: Any) -> None:
    """A mapping of known policy values."""
    if not isinstance(value, dict):
        raise ValidationError("Write the values as {name: number}.")
    try:
        read_policy(value)
    except BadPolicy as error:
        raise ValidationError(str(error)) from error
