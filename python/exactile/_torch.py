# SPDX-License-Identifier: Apache-2.0
"""torch's tensors, in host memory or on a CUDA device, on torch's current stream and with memory from its allocator."""
from types import TracebackType
from typing import Any

import torch

from . import _exactile


def name_of(dtype: torch.dtype) -> str:
    """ "float32" of torch.float32."""
    return str(dtype).removeprefix("torch.")


def view(tensor: torch.Tensor) -> _exactile.View:
    """Where a tensor's elements lie; raises TypeError where the library cannot read them."""
    if tensor.layout is not torch.strided or tensor.device.type not in ("cpu", "cuda"):
        raise TypeError(f"matmul: a tensor is {tensor.layout} on {tensor.device}: expected a strided one in host "
                        "memory or on a CUDA device")
    device = tensor.get_device() if tensor.is_cuda else -1
    return _exactile.View.at(tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), name_of(tensor.dtype), device,
                             False, tensor)


def stream_of(tensor: torch.Tensor) -> int:
    """The current stream of the tensor's device; 0 in host memory."""
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else 0


class Torch:
    """torch as a Library."""

    own_matmul: Any = None

    def __init__(self, like: torch.Tensor) -> None:
        self._device = like.device
        self.in_host_memory = not like.is_cuda
        self._guard = torch.cuda.device(like.device) if like.is_cuda else None

    def __enter__(self) -> "Torch":
        if self._guard is not None:
            self._guard.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._guard is not None:
            self._guard.__exit__(kind, error, trace)

    def owns(self, array: Any) -> bool:
        return isinstance(array, torch.Tensor)

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        tensor = given if isinstance(given, torch.Tensor) else torch.as_tensor(given, device=self._device)
        if tensor.device != self._device:
            raise ValueError(f"matmul: {name} lies on {tensor.device}: expected {self._device}, where the others are")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(f"matmul: {name} requires a gradient: exactile.torch.mm, bmm, addmm and linear have one; "
                             "expected a tensor without, such as tensor.detach()")
        return tensor.detach().resolve_conj().resolve_neg()

    def name(self, array: Any) -> str:
        return name_of(array.dtype)

    def type_name(self, dtype: Any) -> str:
        if not isinstance(dtype, (torch.dtype, str)):
            raise TypeError(f"matmul: dtype = {dtype!r}: expected a torch.dtype, as the arrays are torch's")
        return str(dtype).removeprefix("torch.")

    def common(self, a: Any, b: Any) -> str:
        return name_of(a.dtype if a.dtype == b.dtype else torch.promote_types(a.dtype, b.dtype))

    def check_cast(self, source: str, target: str) -> None:
        if not torch.can_cast(getattr(torch, source), getattr(torch, target)):
            raise TypeError(f"matmul: cannot cast from {source} to {target} with casting rule 'same_kind'")

    def convert(self, array: Any, name: str) -> Any:
        return array.to(getattr(torch, name))

    def contiguous(self, array: Any, name: str) -> Any:
        return array.to(getattr(torch, name)).contiguous()

    def copy(self, array: Any, name: str) -> Any:
        return array.to(getattr(torch, name), copy=True).contiguous()

    def empty(self, shape: tuple[int, ...], name: str, like: Any) -> Any:
        return torch.empty(shape, dtype=getattr(torch, name), device=self._device)

    def view(self, array: Any) -> _exactile.View:
        return view(array)

    def stream(self, array: Any) -> int:
        return stream_of(array)

    def is_writable(self, array: Any) -> bool:
        return not (array.requires_grad and torch.is_grad_enabled())

    def can_write_to(self, array: Any) -> bool:
        steps = zip(array.stride(), array.shape)
        return all(stride > 0 for stride, extent in steps if extent > 1) and not (array.is_conj() or array.is_neg())

    def assign(self, array: Any, elements: Any) -> None:
        self.check_cast(name_of(elements.dtype), name_of(array.dtype))
        array.copy_(elements)

    def finish(self, array: Any) -> Any:
        return array
