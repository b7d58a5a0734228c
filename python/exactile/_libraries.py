# SPDX-License-Identifier: Apache-2.0
"""What matmul() needs to know of an array library: NumPy here, others in modules of their own."""
import sys
from types import TracebackType
from typing import Any, Protocol

from . import _exactile


_CUDA = (2, 13)  # DLPack's numbers of a CUDA device's memory and of managed memory


class Library(Protocol):
    """An array library. As a context it makes its arrays' device the current one."""

    in_host_memory: bool
    """Where its arrays lie."""
    own_matmul: Any
    """What does the whole of exactile.matmul(), where results cannot be written to; None elsewhere."""

    def __enter__(self) -> Any: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None: ...
    def owns(self, array: Any) -> bool:
        """Whether this is an array of the library."""
    def array(self, given: Any, name: str, like: Any = None) -> Any:
        """An array of what a caller gave; `name` is for the TypeError. On the device of `like`."""
    def name(self, array: Any) -> str:
        """The name of an array's type."""
    def type_name(self, dtype: Any) -> str:
        """The name of what a caller gave as a type."""
    def common(self, a: Any, b: Any) -> str:
        """The type to which those of two arrays are promoted; raises TypeError where there is none."""
    def check_cast(self, source: str, target: str) -> None:
        """Raises TypeError where elements are not converted silently."""
    def convert(self, array: Any, name: str) -> Any:
        """The array with elements of that type, itself where it has them and can be viewed."""
    def contiguous(self, array: Any, name: str) -> Any:
        """The same, one element behind the other."""
    def copy(self, array: Any, name: str) -> Any:
        """A new array of that type with these elements."""
    def empty(self, shape: tuple[int, ...], name: str, like: Any) -> Any:
        """A new array on the device of `like`."""
    def view(self, array: Any) -> _exactile.View: ...
    def stream(self, array: Any) -> int:
        """The CUDA stream on which the library works now; 0 for what lies in host memory."""
    def is_writable(self, array: Any) -> bool: ...
    def can_write_to(self, array: Any) -> bool:
        """Whether a product can be written there: in steps forward, each element at a place of its own."""
    def assign(self, array: Any, elements: Any) -> None:
        """Copies elements into an array; raises TypeError where they are not converted silently."""
    def finish(self, array: Any) -> Any:
        """What the caller gets of a new array."""


def module_of(array: Any) -> str:
    """The package that an object's class comes from."""
    return str(type(array).__module__).partition(".")[0]


def library_of(*arrays: Any) -> Library:
    """The library of the arrays: that of the first which is not NumPy's, else NumPy."""
    for array in arrays:
        if array is not None and not isinstance(array, (list, tuple, int, float, complex)):
            other = _other_library(array)
            if other is not None:
                return other
    from . import _numpy

    return _numpy.NumPy()


def _other_library(array: Any) -> Library | None:
    """The library of an array that is not NumPy's. It is imported already: its array is here."""
    module = module_of(array)
    if module == "numpy":
        return None
    torch = imported("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        from ._torch import Torch

        return Torch(array)
    if module in ("jax", "jaxlib"):
        from ._jax import Jax

        return Jax(array)
    if hasattr(array, "__cuda_array_interface__"):
        from ._cupy import CuPy

        return CuPy(array)
    from . import _numpy

    if _numpy.is_array(array) or not hasattr(array, "__dlpack__"):
        return None
    if array.__dlpack_device__()[0] in _CUDA:
        from ._cupy import CuPy

        return CuPy(array)
    return _numpy.Foreign(array)


def imported(name: str) -> Any:
    """A module if it is imported already, else None."""
    return sys.modules.get(name)
