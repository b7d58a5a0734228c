# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays: in host memory they are seen through NumPy; on a CUDA device XLA calls the product, as exactile.jax has
it, and JAX does what comes after it."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._numpy import NumPy
from ._types import sums_in, types_of


class Jax(NumPy):
    """JAX as a Library. Its arrays are never written to, so there is no `out`."""

    def __init__(self, array: Any) -> None:
        if isinstance(array, jax.core.Tracer):
            raise TypeError("matmul: a JAX array is being traced: exactile.jax.matmul can be, matmul cannot")
        devices = list(array.devices())
        self._device = devices[0]
        if len(devices) != 1 or self._device.platform not in ("cpu", "gpu"):
            raise TypeError(f"matmul: a JAX array lies on {devices}: expected the memory of the host or of one CUDA "
                            "device")
        self.own_matmul = self._matmul if self._device.platform == "gpu" else None

    def owns(self, array: Any) -> bool:
        return False

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        if self.own_matmul is not None:
            raise TypeError("a plan is for arrays in host memory, torch's or CuPy's: expected none of JAX on a GPU, "
                            "where jax.jit plans")
        return np.asarray(given)

    def type_name(self, dtype: Any) -> str:
        return str(np.dtype(dtype).name)

    def common(self, a: Any, b: Any) -> str:
        super().common(a, b)  # refuses what is no number
        return str(jnp.promote_types(a.dtype, b.dtype).name)

    def finish(self, array: Any) -> Any:
        return jax.device_put(array, self._device)

    def _matmul(self, a: Any, b: Any, out: Any, dtype: Any, accuracy: str, backend: str, alpha: Any, beta: Any,
                bias: Any, activation: str | None, row_scales: Any, column_scales: Any, threads: int | None,
                reproducible: bool) -> Any:
        """exactile.matmul() by XLA and JAX, on any device."""
        from .jax import matmul

        if out is not None or beta != 0:
            raise TypeError("matmul: out or beta is given: expected neither, as JAX's arrays are never written to")
        if backend not in ("auto", "cuda"):
            raise ValueError(f"matmul: backend = {backend!r}: expected 'auto' or 'cuda' for arrays on {self._device}")
        if reproducible:
            raise NotImplementedError("matmul: reproducible = True: expected False for JAX's arrays on a GPU")
        a, b = (x if isinstance(x, jax.Array) else jax.device_put(jnp.asarray(x), self._device) for x in (a, b))
        if activation is None and bias is row_scales is column_scales is None and alpha == 1:
            return matmul(a, b, dtype=dtype, accuracy=accuracy)
        types = types_of(self.common(a, b), None if dtype is None else self.type_name(dtype))
        floats = "float" in types.inputs
        sums = matmul(a, b, dtype=sums_in(types.inputs) if floats else types.computed, accuracy=accuracy)
        rows = sums[None] if a.ndim == 1 else sums
        rows = rows[..., None] if b.ndim == 1 else rows
        rows = _finished(rows, alpha, bias, activation, row_scales, column_scales)
        return rows.reshape(sums.shape).astype(types.result)


def _finished(c: Any, alpha: Any, bias: Any, activation: str | None, row_scales: Any, column_scales: Any) -> Any:
    """What is done to sums of the shape (..., m, n), in their type."""
    def vector(x: Any, name: str, length: int) -> Any:
        x = jnp.asarray(x).astype(c.dtype)
        if x.shape != (length,):
            raise ValueError(f"matmul: {name} has shape {x.shape}: expected ({length},)")
        return x

    c = c * jnp.asarray(alpha, c.dtype)
    if row_scales is not None:
        c = c * vector(row_scales, "row_scales", c.shape[-2])[:, None]
    if column_scales is not None:
        c = c * vector(column_scales, "column_scales", c.shape[-1])
    if bias is not None:
        bias = jnp.asarray(bias)
        per_row = bias.ndim == 2 and bias.shape[1] == 1
        c = c + (vector(bias[:, 0], "bias", c.shape[-2])[:, None] if per_row else
                 vector(bias.reshape(-1), "bias", c.shape[-1]))
    if activation not in (None, "relu", "gelu"):
        raise ValueError(f"matmul: activation = {activation!r}: expected None, 'relu' or 'gelu'")
    return c if activation is None else jax.nn.relu(c) if activation == "relu" else jax.nn.gelu(c, approximate=False)
