# SPDX-License-Identifier: Apache-2.0
"""torch operators whose products are exactile's: mm, bmm, addmm and linear, with gradients, for torch.compile too.

Tensors lie in host memory or on a CUDA device; work goes to torch's current stream, memory is torch's allocator's.
Gradients are products of this library as well, so a training step keeps the stated error bound forwards and backwards.
`enabled()` replaces torch's own products of a block of code.
"""
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, library
from torch.utils._python_dispatch import TorchDispatchMode

from . import _exactile
from ._torch import name_of, stream_of, view

__all__ = ["addmm", "bmm", "enabled", "linear", "mm"]


def _plain(x: Tensor) -> Tensor:
    return x.resolve_conj().resolve_neg()


def _product(a: Tensor, b: Tensor, accuracy: str, out: Tensor | None = None, bias: Tensor | None = None,
             alpha: Any = 1, beta: Any = 0) -> Tensor:
    """alpha * a @ b + beta * out + bias, of tensors of one type on one device."""
    a, b = _plain(a), _plain(b)
    if out is None and bias is None and not (a.requires_grad or b.requires_grad):
        return _exactile.matmul(a, b, accuracy=accuracy, alpha=alpha)
    if out is None:
        out = torch.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype, device=a.device)
    _exactile.multiply(view(a), view(b), view(out), accuracy=accuracy, alpha=alpha, beta=beta,
                       bias=None if bias is None else view(_plain(bias).contiguous()), stream=stream_of(a))
    return out


def _check(name: str, dimensions: int, **tensors: Tensor) -> None:
    first = next(iter(tensors.values()))
    for key, tensor in tensors.items():
        if tensor.dim() != dimensions:
            raise ValueError(f"{name}: {key} has shape {tuple(tensor.shape)}: expected {dimensions} dimensions")
        if tensor.dtype != first.dtype or tensor.device != first.device:
            raise ValueError(f"{name}: {key} is {name_of(tensor.dtype)} on {tensor.device}: expected "
                             f"{name_of(first.dtype)} on {first.device}, as the others")


@library.custom_op("exactile::mm", mutates_args=())
def mm(a: Tensor, b: Tensor, accuracy: str = "standard") -> Tensor:
    """a @ b of two matrices."""
    _check("mm", 2, a=a, b=b)
    return _product(a, b, accuracy)


@mm.register_fake
def _(a: Tensor, b: Tensor, accuracy: str = "standard") -> Tensor:
    _check("mm", 2, a=a, b=b)
    torch._check(a.shape[1] == b.shape[0], lambda: f"mm: a is {tuple(a.shape)} and b is {tuple(b.shape)}")
    return a.new_empty((a.shape[0], b.shape[1]))


@library.custom_op("exactile::bmm", mutates_args=())
def bmm(a: Tensor, b: Tensor, accuracy: str = "standard") -> Tensor:
    """a[i] @ b[i] of two stacks of matrices."""
    _check("bmm", 3, a=a, b=b)
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"bmm: a has {a.shape[0]} matrices and b has {b.shape[0]}: expected one number")
    return _product(a, b, accuracy)


@bmm.register_fake
def _(a: Tensor, b: Tensor, accuracy: str = "standard") -> Tensor:
    _check("bmm", 3, a=a, b=b)
    torch._check(a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
                 lambda: f"bmm: a is {tuple(a.shape)} and b is {tuple(b.shape)}")
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]))


@library.custom_op("exactile::addmm", mutates_args=())
def addmm(c: Tensor, a: Tensor, b: Tensor, beta: float = 1, alpha: float = 1, accuracy: str = "standard") -> Tensor:
    """beta * c + alpha * a @ b; c is broadcast to the product's shape."""
    _check("addmm", 2, a=a, b=b)
    if a.dtype != c.dtype or a.device != c.device:
        raise ValueError("addmm: expected c to be of the type and on the device of a")
    return _addmm(c, a, b, beta, alpha, accuracy)


def _addmm(c: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any, accuracy: str) -> Tensor:
    if not a.dtype.is_floating_point and not a.dtype.is_complex:
        beta, alpha = int(beta), int(alpha)
    if c.dim() == 1 and c.shape[0] == b.shape[1] and beta == 1:
        return _product(a, b, accuracy, bias=c, alpha=alpha)
    out = c.expand(a.shape[0], b.shape[1]).clone(memory_format=torch.contiguous_format)
    return _product(a, b, accuracy, out=out, alpha=alpha, beta=beta)


@addmm.register_fake
def _(c: Tensor, a: Tensor, b: Tensor, beta: float = 1, alpha: float = 1, accuracy: str = "standard") -> Tensor:
    torch._check(a.shape[1] == b.shape[0], lambda: f"addmm: a is {tuple(a.shape)} and b is {tuple(b.shape)}")
    return a.new_empty((a.shape[0], b.shape[1]))


def _save_two(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, ctx.accuracy = inputs
    ctx.save_for_backward(a, b)


def _two_gradients(product: Any) -> Any:
    """The gradients of product(a, b), as products of the same kind."""

    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        return (product(grad, b.mH, ctx.accuracy) if ctx.needs_input_grad[0] else None,
                product(a.mH, grad, ctx.accuracy) if ctx.needs_input_grad[1] else None, None)

    return backward


mm.register_autograd(_two_gradients(mm), setup_context=_save_two)
bmm.register_autograd(_two_gradients(bmm), setup_context=_save_two)


def _save_addmm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    c, a, b, ctx.beta, ctx.alpha, ctx.accuracy = inputs
    ctx.c_shape = c.shape
    ctx.save_for_backward(a, b)


def _addmm_gradients(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    scaled = grad if ctx.alpha == 1 else grad * ctx.alpha
    return ((grad if ctx.beta == 1 else grad * ctx.beta).sum_to_size(ctx.c_shape) if ctx.needs_input_grad[0] else None,
            mm(scaled, b.mH, ctx.accuracy) if ctx.needs_input_grad[1] else None,
            mm(a.mH, scaled, ctx.accuracy) if ctx.needs_input_grad[2] else None, None, None, None)


addmm.register_autograd(_addmm_gradients, setup_context=_save_addmm)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, accuracy: str = "standard") -> Tensor:
    """x @ weight.T + bias, for x of shape (..., k) and a weight of shape (n, k), as torch.nn.functional.linear."""
    rows = x.reshape(-1, x.shape[-1])
    flat = mm(rows, weight.t(), accuracy) if bias is None else addmm(bias, rows, weight.t(), 1, 1, accuracy)
    return flat.reshape(*x.shape[:-1], weight.shape[0])


class _Products(TorchDispatchMode):
    """Takes the products of some types from torch, below autograd: those of the backward pass too."""

    def __init__(self, dtypes: tuple[torch.dtype, ...], accuracy: str) -> None:
        super().__init__()
        self._dtypes = dtypes
        self._accuracy = accuracy

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        ours = _REPLACED.get(function)
        if ours is not None and all(self._takes(x) for x in args if isinstance(x, Tensor)):
            return ours(self._accuracy, *args, **keywords)
        if ours is None and torch.is_inference_mode_enabled():  # there linear, matmul and einsum come here undivided
            with self:
                parts = function.decompose(*args, **keywords)
            if parts is not NotImplemented:
                return parts
        return function(*args, **keywords)

    def _takes(self, x: Tensor) -> bool:
        return type(x) in (Tensor, torch.nn.Parameter) and x.dtype in self._dtypes and x.device.type in ("cpu", "cuda")


def _baddbmm(accuracy: str, c: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    out = c.expand(a.shape[0], a.shape[1], b.shape[2]).clone(memory_format=torch.contiguous_format)
    return _product(a, b, accuracy, out=out, alpha=alpha, beta=beta)


_aten: Any = torch.ops.aten
_REPLACED: dict[Any, Any] = {
    _aten.mm.default: lambda accuracy, a, b: _product(a, b, accuracy),
    _aten.bmm.default: lambda accuracy, a, b: _product(a, b, accuracy),
    _aten.addmm.default: lambda accuracy, c, a, b, beta=1, alpha=1: _addmm(c, a, b, beta, alpha, accuracy),
    _aten.baddbmm.default: _baddbmm,
}


@contextmanager
def enabled(*dtypes: torch.dtype, accuracy: str = "standard") -> Iterator[None]:
    """Products inside the block are this library's: those of mm, addmm, bmm, linear and matmul and of what is made of
    them, and their gradients; of float32 tensors, or of the types that are named.

        with exactile.torch.enabled():
            loss = model(batch).square().mean()
            loss.backward()
    """
    with _Products(dtypes or (torch.float32,), accuracy):
        yield
