# SPDX-License-Identifier: Apache-2.0
"""Dense matrix products within a stated error bound.

    >>> import exactile, numpy as np
    >>> exactile.matmul(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])

matmul() follows numpy.matmul. Plan, prepare() and explain() are for products done many times and for the curious,
error_bound() and verify() for those who want to know how far to trust a result. NumPy is needed for its arrays only.
"""
from __future__ import annotations

from ._exactile import matmul
from ._exactile import version as __version__

TYPE_CHECKING = False  # typing's own would import typing: longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from ._check import Verification, error_bound, verify
    from ._config import devices, get_threads, kernels, set_threads, show_config
    from ._grouped import grouped_matmul
    from ._plan import Explanation, Plan, Prepared, explain, prepare

# What is imported when it is asked for: `import exactile` is quick, and does without NumPy.
_LATER = {"Verification": "_check", "error_bound": "_check", "verify": "_check",
          "devices": "_config", "get_threads": "_config", "kernels": "_config", "set_threads": "_config",
          "show_config": "_config", "grouped_matmul": "_grouped",
          "Explanation": "_plan", "Plan": "_plan", "Prepared": "_plan", "explain": "_plan", "prepare": "_plan"}

__all__ = [
    "__version__", "matmul",  # at once
    "Explanation", "Plan", "Prepared", "Verification", "devices", "error_bound", "explain", "get_threads",
    "grouped_matmul", "kernels", "prepare", "set_threads", "show_config", "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'exactile' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
