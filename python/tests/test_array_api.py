# SPDX-License-Identifier: Apache-2.0
"""The array API's own tests of matmul, which are on no package index: EXACTILE_ARRAY_API_TESTS names a checkout of
https://github.com/data-apis/array-api-tests with its submodule."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = os.environ.get("EXACTILE_ARRAY_API_TESTS")


@pytest.mark.skipif(CHECKOUT is None, reason="EXACTILE_ARRAY_API_TESTS names no checkout of array-api-tests")
def test_matmul_of_the_array_api():
    environment = {**os.environ, "ARRAY_API_TESTS_MODULE": "exec('from array_api_namespace import xp')",
                   "ARRAY_API_TESTS_VERSION": "2024.12",
                   "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--max-examples=200",
                           "array_api_tests/test_linalg.py", "-k", "matmul"], cwd=CHECKOUT, env=environment,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b2 passed", done.stdout), done.stdout  # matmul and linalg.matmul
