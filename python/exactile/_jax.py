# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays in host memory, seen through NumPy; exactile.jax has the product that JAX can trace."""
from typing import Any

import jax
import numpy as np

from ._numpy import NumPy


class Jax(NumPy):
    """JAX as a Library. Its arrays are never written to, so there is no `out`."""

    def __init__(self, array: Any) -> None:
        if isinstance(array, jax.core.Tracer):
            raise TypeError("matmul: a JAX array is being traced: exactile.jax.matmul can be, matmul cannot")
        devices = list(array.devices())
        self._device = devices[0]
        if len(devices) != 1 or self._device.platform != "cpu":
            raise TypeError(f"matmul: a JAX array lies on {devices}: expected one in host memory; "
                            "exactile.jax.matmul multiplies on a GPU")

    def owns(self, array: Any) -> bool:
        return False

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        return np.asarray(given)

    def type_name(self, dtype: Any) -> str:
        return str(np.dtype(dtype).name)

    def common(self, a: Any, b: Any) -> str:
        super().common(a, b)  # refuses what is no number
        return str(jax.numpy.promote_types(a.dtype, b.dtype).name)

    def finish(self, array: Any) -> Any:
        return jax.device_put(array, self._device)
