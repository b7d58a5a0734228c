# SPDX-License-Identifier: Apache-2.0
"""How far a product can be trusted: its error bound, and a check of any product in O(n^2)."""
from typing import Any

import numpy as np

from . import _exactile
from ._numpy import NumPy, dtype_of
from ._types import types_of

# The smallest normal number, as which docs/accuracy.md counts smaller elements of narrow types.
_SMALLEST_NORMAL = {"float16": 2.0**-14, "float8_e5m2": 2.0**-14, "float8_e4m3fn": 2.0**-6, "bfloat16": 2.0**-126}
# Half the distance of subnormal results, up to which rounding to a narrow type may err there.
_UNDERFLOW = {"float16": 2.0**-25, "bfloat16": 2.0**-134}
_ALIGNED_UNITS = 2.0**-53  # float64, in which bounds are computed


def _operands(a: Any, b: Any, dtype: Any) -> tuple[Any, Any, Any]:
    library = NumPy()
    a, b = (np.atleast_1d(_host(x)) for x in (a, b))
    types = types_of(library.common(a, b), None if dtype is None else library.type_name(dtype))
    return a.astype(dtype_of(types.inputs), copy=False), b.astype(dtype_of(types.inputs), copy=False), types


def _host(array: Any) -> Any:
    """A NumPy array with the elements of an array of any library, wherever it lies."""
    if hasattr(array, "detach"):  # torch
        array = array.detach().cpu()
        if "bfloat16" in str(array.dtype) or "float8" in str(array.dtype):
            name = str(array.dtype).removeprefix("torch.")
            bits = array.view({1: _torch().uint8, 2: _torch().int16}[array.element_size()])
            return bits.numpy().view(dtype_of(name))
    elif hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):  # CuPy
        array = array.get()
    return np.asarray(array)


def _torch() -> Any:
    import torch

    return torch


def _sizes(x: Any, name: str) -> Any:
    """|x| in float64, |re| + |im| of complex numbers, with the weights of small elements."""
    if x.dtype.kind == "c":
        return np.abs(x.real).astype(np.float64) + np.abs(x.imag)
    sizes = np.abs(x.astype(np.float64))
    least = _SMALLEST_NORMAL.get(name)
    return sizes if least is None else np.where(sizes == 0, 0, np.maximum(sizes, least))


def _factors(accuracy: str, inputs: str, result: str, k: int) -> tuple[float, float]:
    """What the library promises, as multiples of |c| and |a||b|; of complex numbers it is a bound of each part."""
    parts = float(np.sqrt(2)) if inputs.startswith("complex") else 1.0
    of_result, of_terms = _exactile.bound_factors(accuracy, inputs, result, k)
    return parts * of_result, parts * of_terms


def error_bound(a: Any, b: Any, *, dtype: Any = None, accuracy: str = "standard", cheap: bool = False) -> Any:
    """How far each element of matmul(a, b) may be from the exact product: an array of float64, in host memory.

    What docs/accuracy.md promises, the rounding to the result's type included; 0 for integers, which are exact modulo
    2^w. It costs a product of |a| and |b|, and one of a and b for the accuracies that round once. With `cheap=True` it
    is larger and costs O(n^2): the elements of |a||b| are replaced by the products of the norms of a's rows and b's
    columns.
    """
    a, b, types = _operands(a, b, dtype)
    if types.computed.startswith(("int", "uint")):
        return np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + a.shape[-2:-1] + b.shape[1:][-1:])
    k = a.shape[-1]
    size_a, size_b = _sizes(a, types.inputs), _sizes(b, types.inputs)
    if cheap:
        rows = np.linalg.norm(size_a, axis=-1)
        columns = np.linalg.norm(size_b, axis=-2 if b.ndim > 1 else -1)
        product = rows * columns if a.ndim == 1 or b.ndim == 1 else rows[..., :, None] * columns[..., None, :]
    else:
        product = np.asarray(_exactile.matmul(size_a, size_b))
    product = product * (1 + (k + 4) * _ALIGNED_UNITS)  # above its own rounding errors
    of_result, of_terms = _factors(accuracy, types.inputs, types.computed, k)
    result = product  # |c| <= |a||b|, and nearer to it where the rounding of c is most of the bound
    if of_result > of_terms and not cheap:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        computed = np.abs(_exactile.matmul(a.astype(wide), b.astype(wide)))
        result = np.minimum(product, computed + 2 * (2 * k + 4) * _ALIGNED_UNITS * product)
    return of_result * result + of_terms * product + _UNDERFLOW.get(types.computed, 0.0)


class Verification:
    """What verify() found: true where nothing is wrong."""

    def __init__(self, passed: bool, ratio: float, sentence: str) -> None:
        self.passed = passed
        self.ratio = ratio
        """The largest residual as a share of what is allowed; 0 or infinity for integers."""
        self._sentence = sentence

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self._sentence


def verify(a: Any, b: Any, c: Any, *, accuracy: str = "standard", vectors: int = 8, seed: int = 0) -> Verification:
    """Checks in O(n^2) that c is a @ b, whoever computed it.

    Each row of c is multiplied by `vectors` vectors x of random signs and compared with a @ (b @ x) (R. Freivalds,
    1977): an error far above the bound escapes one vector with probability 1/2 at most, all with 2^-vectors. Floating
    rows may differ by the sum of their elements' error bounds; integers by nothing, modulo 2^w.
    """
    c = _host(c)
    a, b, types = _operands(a, b, c.dtype)
    a, b = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
    if c.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"verify: c has shape {c.shape}: expected that of a @ b, {shape}")
    c = c.reshape(shape)
    random = np.random.default_rng(seed)
    signs = random.integers(0, 2, (shape[-1], vectors)) * 2 - 1
    if c.dtype.kind in "iub":
        return _verify_integers(a, b, c, signs)
    wide: Any = np.clongdouble if c.dtype.kind == "c" else np.longdouble
    residual = np.abs(_times(c, signs, wide) - np.matmul(a.astype(wide), _times(b, signs, wide)))
    magnitude = np.matmul(_sizes(a, types.inputs), _sizes(b, types.inputs).sum(axis=-1, keepdims=True))
    inner = a.shape[-1]
    own = 2 * (inner + shape[-1] + 2) * float(np.finfo(wide).eps)  # the rounding errors of the check itself
    of_result, of_terms = _factors(accuracy, types.inputs, types.computed, inner)
    rounding = of_result * np.abs(c).astype(np.float64).sum(axis=-1, keepdims=True) * (1 + 2 * of_result)
    allowed = rounding + (of_terms + own) * magnitude
    allowed = allowed + shape[-1] * _UNDERFLOW.get(types.computed, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(residual == 0, 0, residual / allowed)
    ratio = float(np.max(ratios, initial=0))
    passed = bool(ratio <= 1)  # not for NaN
    return Verification(passed, ratio, f"{'right' if passed else 'WRONG'}: the largest of {ratios.shape[-2]} rows' "
                                       f"residuals is {ratio:.3g} of what the bound allows")


def _times(x: Any, signs: Any, wide: Any) -> Any:
    return np.matmul(x.astype(wide), signs.astype(wide))


def _verify_integers(a: Any, b: Any, c: Any, signs: Any) -> Verification:
    modulus = c.dtype if c.dtype.kind != "b" else np.dtype(np.int64)
    a, b, signs = (x.astype(modulus) for x in (a, b, signs))
    if c.dtype.kind == "b":
        wrong = int(np.count_nonzero((np.matmul(a, b) != 0) != c))
    else:
        wrong = int(np.count_nonzero(np.matmul(c, signs) != np.matmul(a, np.matmul(b, signs))))
    return Verification(wrong == 0, float("inf") if wrong else 0.0,
                        "right: every row agrees" if wrong == 0 else f"WRONG: {wrong} sums of rows disagree")
