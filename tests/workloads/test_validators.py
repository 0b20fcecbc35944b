"""Is a folder of logs a border?"""

import pytest
from django.core.exceptions import ValidationError

from workloads.validators import absolute_paths


@pytest.mark.parametrize("root", ["/", "//", "/.", "/proc", "/proc/", "/proc/1/root", "//proc", "/sys", "/dev/shm"])
def test_a_root_that_is_no_border_is_refused(root: str) -> None:
    with pytest.raises(ValidationError, match="is no folder of logs"):
        absolute_paths([root])


@pytest.mark.parametrize("root", ["/logs", "/scratch/train/logs", "/home", "/process", "/srv/dev", "/logs/"])
def test_a_folder_is_taken(root: str) -> None:
    absolute_paths([root])
