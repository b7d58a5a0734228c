# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays, and through it those of any library with __cuda_array_interface__ or, on a CUDA device, with
__dlpack__: on CuPy's current stream, which DLPack's producer is told."""
from types import TracebackType
from typing import Any

import numpy as np

from . import _exactile
from ._numpy import NumPy, dtype_of


class CuPy(NumPy):
    """CuPy as a Library: NumPy's interface on a CUDA device."""

    in_host_memory = False

    def __init__(self, array: Any) -> None:
        try:
            import cupy
        except ImportError as error:
            raise TypeError(f"matmul: an array of type {type(array).__name__} lies on a CUDA device: CuPy is needed to "
                            "make room for its product there") from error
        self._cupy = cupy
        self._class = type(array)
        self._namespace: Any = array.__array_namespace__() if hasattr(array, "__array_namespace__") else None
        self._device = self._seen(array).device
        # What another library enqueued on a stream of its own is waited for by CuPy's import of its array.

    def __enter__(self) -> "CuPy":
        self._device.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._device.__exit__(kind, error, trace)

    def _seen(self, array: Any) -> Any:
        """A CuPy array of the same memory."""
        by_dlpack = hasattr(array, "__dlpack__") and not hasattr(array, "__cuda_array_interface__")
        return self._cupy.from_dlpack(array) if by_dlpack else self._cupy.asarray(array)

    def owns(self, array: Any) -> bool:
        return isinstance(array, self._cupy.ndarray)

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        array = self._seen(given)
        if array.device != self._device:
            raise ValueError(f"matmul: {name} lies on {array.device}: expected {self._device}, where the others are")
        return array

    def convert(self, array: Any, name: str) -> Any:
        return array.astype(dtype_of(name), copy=False)

    def contiguous(self, array: Any, name: str) -> Any:
        return self._cupy.ascontiguousarray(array, dtype=dtype_of(name))

    def copy(self, array: Any, name: str) -> Any:
        return self._cupy.array(array, dtype=dtype_of(name), order="C")

    def empty(self, shape: tuple[int, ...], name: str, like: Any) -> Any:
        return self._cupy.empty(shape, dtype_of(name))

    def view(self, array: Any) -> _exactile.View:
        steps = tuple(stride // array.itemsize for stride in array.strides)
        return _exactile.View.at(array.data.ptr, array.shape, steps, array.dtype.name, array.device.id, False, array)

    def stream(self, array: Any) -> int:
        return int(self._cupy.cuda.get_current_stream().ptr)

    def is_writable(self, array: Any) -> bool:
        return True

    def can_write_to(self, array: Any) -> bool:
        return all(stride > 0 for stride, extent in zip(array.strides, array.shape) if extent > 1)

    def assign(self, array: Any, elements: Any) -> None:
        if not np.can_cast(elements.dtype, array.dtype, "same_kind"):
            raise TypeError(f"matmul: cannot cast from {elements.dtype} to {array.dtype} with casting rule 'same_kind'")
        array[...] = elements

    def finish(self, array: Any) -> Any:
        """An array of the caller's library, where it has a way to make one of what DLPack exports."""
        if issubclass(self._class, self._cupy.ndarray) or not hasattr(self._namespace, "from_dlpack"):
            return array
        return self._namespace.from_dlpack(array)
