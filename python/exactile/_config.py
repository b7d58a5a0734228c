# SPDX-License-Identifier: Apache-2.0
"""What one asks for first when something is odd."""
import os
import sys
from typing import Any

from . import _exactile
from ._libraries import imported


def show_config(mode: str = "text") -> dict[str, Any] | None:
    """Prints versions, devices, threads and settings; with mode="dicts" answers them instead."""
    config: dict[str, Any] = {
        "exactile": _exactile.version,
        "python": sys.version.split()[0],
        "file": _exactile.__file__,
        "threads": _exactile.get_threads(),
        "libraries": {name: imported(name).__version__ for name in ("numpy", "ml_dtypes", "torch", "cupy", "jax")
                      if hasattr(imported(name), "__version__")},
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("EXACTILE_")},
        "ignored_settings": _exactile.ignored_settings(),
        "devices": _exactile.devices(),
    }
    if mode == "dicts":
        return config
    if mode != "text":
        raise ValueError(f"mode = {mode!r}: expected 'text' or 'dicts'")
    for key, value in config.items():
        if key == "devices":
            for device in config["devices"]:
                print(f"{device['backend']}: {device['name']}" +
                      ("" if device["available"] else f" is not available: {device['reason']}"))
        elif value not in ({}, []):
            print(f"{key}: {value}")
    return None
