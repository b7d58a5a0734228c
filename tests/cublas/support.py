# SPDX-License-Identifier: Apache-2.0
"""How the tests run a program under the library."""
import os
import subprocess
import sys

LIBRARY = os.environ["EXACTILE_CUBLAS_LIBRARY"]
FAKES = os.environ.get("EXACTILE_FAKES", "")
FAKE_MODULE = os.environ.get("EXACTILE_FAKE_MODULE", "")


def python(code, preload=LIBRARY, **settings):
    """The finished process; `settings` are environment variables."""
    environment = {**os.environ, "LD_PRELOAD": preload, **{name: str(value) for name, value in settings.items()}}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done
