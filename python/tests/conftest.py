# SPDX-License-Identifier: Apache-2.0
"""What the tests of the installed package share."""
import numpy as np
import pytest
from hypothesis import settings

# Sizes of shrunk examples say more than the time that a busy machine takes.
settings.register_profile("package", deadline=None, max_examples=150, derandomize=True, database=None)
settings.load_profile("package")


@pytest.fixture
def random():
    return np.random.default_rng(1)
