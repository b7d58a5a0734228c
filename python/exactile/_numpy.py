# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays, and those that NumPy can see through DLPack."""
from types import TracebackType
from typing import Any

import numpy as np

from . import _exactile

_ML_TYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_array(array: Any) -> bool:
    """Whether this is a NumPy array or number."""
    return isinstance(array, (np.ndarray, np.generic))


def dtype_of(name: str) -> Any:
    """NumPy's type of that name; ml_dtypes has those that NumPy lacks."""
    if name in _ML_TYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


class NumPy:
    """NumPy as a Library."""

    in_host_memory = True
    own_matmul: Any = None

    def __enter__(self) -> "NumPy":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        pass

    def owns(self, array: Any) -> bool:
        return isinstance(array, np.ndarray)

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        try:
            return np.asarray(given)
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"matmul: {name}: {error}") from None

    def name(self, array: Any) -> str:
        return str(array.dtype.name)

    def type_name(self, dtype: Any) -> str:
        return str(np.dtype(dtype).name)

    def common(self, a: Any, b: Any) -> str:
        for name, x in (("a", a), ("b", b)):
            if x.dtype.kind in "OUSMmV" and x.dtype.name not in _ML_TYPES:
                raise TypeError(f"matmul: {name} has dtype {x.dtype}: expected numbers; objects, records, strings and "
                                "dates cannot be multiplied")
        return str(np.promote_types(a.dtype, b.dtype).name)

    def check_cast(self, source: str, target: str) -> None:
        if not np.can_cast(dtype_of(source), dtype_of(target), "same_kind"):
            raise TypeError(f"matmul: cannot cast from {source} to {target} with casting rule 'same_kind'")

    def convert(self, array: Any, name: str) -> Any:
        dtype = dtype_of(name)
        steps_fit = all(stride % dtype.itemsize == 0 for stride in array.strides)
        if array.dtype == dtype and array.flags.aligned and steps_fit and type(array) is np.ndarray:
            return array
        return np.array(array, dtype=dtype, subok=False)

    def contiguous(self, array: Any, name: str) -> Any:
        return np.ascontiguousarray(array, dtype=dtype_of(name))

    def copy(self, array: Any, name: str) -> Any:
        return np.array(array, dtype=dtype_of(name), order="C")

    def empty(self, shape: tuple[int, ...], name: str, like: Any) -> Any:
        return np.empty(shape, dtype_of(name))

    def view(self, array: Any) -> _exactile.View:
        return _exactile.View.of(array)

    def stream(self, array: Any) -> int:
        return 0

    def is_writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def can_write_to(self, array: Any) -> bool:
        forward = all(stride > 0 and stride % array.itemsize == 0
                      for stride, extent in zip(array.strides, array.shape) if extent > 1)
        return forward and array.flags.aligned and array.dtype.isnative and type(array) is np.ndarray

    def assign(self, array: Any, elements: Any) -> None:
        np.copyto(array, elements, casting="same_kind")

    def finish(self, array: Any) -> Any:
        return array[()]


class Foreign(NumPy):
    """A library that exports DLPack, known by nothing else: its arrays in host memory are seen through NumPy, and the
    result becomes one of its own where it has an array namespace."""

    def __init__(self, array: Any) -> None:
        device = array.__dlpack_device__()[0]
        if device != 1:
            raise TypeError(f"matmul: an array of type {type(array).__name__} lies on a device (DLPack's type "
                            f"{device}): expected one in the memory of the host or of a CUDA device")
        self._class = type(array)
        self._namespace = array.__array_namespace__() if hasattr(array, "__array_namespace__") else None

    def owns(self, array: Any) -> bool:
        return isinstance(array, (np.ndarray, self._class))

    def array(self, given: Any, name: str, like: Any = None) -> Any:
        if isinstance(given, self._class):
            return np.from_dlpack(given)
        return super().array(given, name)

    def finish(self, array: Any) -> Any:
        return array if self._namespace is None else self._namespace.asarray(array)
