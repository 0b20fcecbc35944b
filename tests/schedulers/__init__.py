"""Does the scheduler library speak to Slurm as Slurm speaks?"""

import pytest

pytest.register_assert_rewrite("tests.schedulers.contract")
