# SPDX-License-Identifier: Apache-2.0
"""A product that JAX can trace: under jit, vmap and grad, whose gradients are products of this library as well.

XLA calls the library through jax.ffi, on the processor or on a CUDA device; importing this module registers it there.
Derivatives are those of reverse mode (grad, vjp); JAX has no other for a function with a rule of its own for them.
"""
from functools import lru_cache, partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _exactile
from ._types import types_of

__all__ = ["matmul"]

_NAME = "exactile_matmul"
for _platform, _on_gpu in (("cpu", False), ("CUDA", True)):
    jax.ffi.register_ffi_target(_NAME, _exactile.xla_handler(_on_gpu), platform=_platform)


@lru_cache(maxsize=None)
def _call(computed: str, accuracy: int) -> Any:
    """The function of a and b, matrices or equally long stacks of them, that XLA hands to the library."""

    @jax.custom_batching.custom_vmap
    def call(a: Any, b: Any) -> Any:
        result = jax.ShapeDtypeStruct((*a.shape[:-1], b.shape[-1]), jnp.dtype(computed))
        return jax.ffi.ffi_call(_NAME, result)(a, b, accuracy=np.int32(accuracy))

    def batched(size: int, has_axis: list[bool], a: Any, b: Any) -> tuple[Any, bool]:
        if has_axis == [True, False] and b.ndim == 2:  # one matrix for all: their rows make one product
            return call(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1]), True
        a, b = (x if has else jnp.broadcast_to(x, (size, *x.shape)) for x, has in zip((a, b), has_axis))
        return call(a, b), True

    call.def_vmap(batched)
    return call


def _stacked(a: Any, b: Any, computed: str, accuracy: int) -> Any:
    """a @ b of two or more dimensions each."""
    call = _call(computed, accuracy)
    if b.ndim == 2:
        rows = a.reshape(prod(a.shape[:-1]), a.shape[-1])
        return call(rows, b).reshape(*a.shape[:-1], b.shape[-1])
    stack = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return call(*(jnp.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b)))


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _product(a: Any, b: Any, computed: str, accuracy: int) -> Any:
    return _stacked(a, b, computed, accuracy)


def _forward(a: Any, b: Any, computed: str, accuracy: int) -> tuple[Any, Any]:
    return _stacked(a, b, computed, accuracy), (a, b)


def _backward(computed: str, accuracy: int, operands: Any, gradient: Any) -> tuple[Any, Any]:
    a, b = operands

    def transposed(x: Any) -> Any:
        return jnp.swapaxes(x, -1, -2).astype(computed)

    def to_shape(x: Any, like: Any) -> Any:
        """The sum over what was broadcast."""
        x = x.sum(axis=tuple(range(x.ndim - like.ndim)))
        repeated = tuple(i for i, extent in enumerate(like.shape) if extent == 1 and x.shape[i] != 1)
        return x.sum(axis=repeated, keepdims=True).astype(like.dtype)

    if b.ndim == 2:  # the stack is a taller matrix, here too
        rows = gradient.reshape(-1, gradient.shape[-1])
        of_b = _product(transposed(a.reshape(-1, a.shape[-1])), rows, computed, accuracy).astype(b.dtype)
    else:
        of_b = to_shape(_product(transposed(a), gradient, computed, accuracy), b)
    return to_shape(_product(gradient, transposed(b), computed, accuracy), a), of_b


_product.defvjp(_forward, _backward)


def matmul(a: Any, b: Any, *, dtype: Any = None, accuracy: str = "standard") -> Any:
    """jax.numpy.matmul within the library's error bound; `dtype` and `accuracy` are those of exactile.matmul."""
    a, b = jnp.asarray(a), jnp.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: an operand has no dimensions: expected 1 or more")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise ValueError(f"matmul: a has shape {a.shape} and b has shape {b.shape}: expected the last axis of a and "
                         f"the {'second-last' if b.ndim > 1 else 'only'} axis of b to be equal")
    types = types_of(str(jnp.promote_types(a.dtype, b.dtype)), None if dtype is None else str(jnp.dtype(dtype)))
    left = (a if a.ndim > 1 else a[None]).astype(types.inputs)
    right = (b if b.ndim > 1 else b[:, None]).astype(types.inputs)
    c = _product(left, right, types.computed, _exactile.xla_accuracy(accuracy)).astype(types.result)
    c = c if a.ndim > 1 else c[..., 0, :]
    return c if b.ndim > 1 else c[..., 0]
