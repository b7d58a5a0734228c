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


def devices() -> list[dict[str, Any]]:
    """Every device that the library looks for, a dict each; one that cannot be used says why ('reason')."""
    return _exactile.devices()


def kernels() -> list[dict[str, Any]]:
    """Every kernel there is, a dict each, in the planner's order of preference."""
    return _exactile.kernels()


def set_threads(count: int | None) -> None:
    """How many threads a product of this process uses at most, where a call says nothing; None: the default."""
    _exactile.set_threads(count)


def get_threads() -> int:
    """How many threads a product uses at most where a call says nothing."""
    return _exactile.get_threads()
