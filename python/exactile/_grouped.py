# SPDX-License-Identifier: Apache-2.0
"""Products of groups of rows with a matrix each, as tokens and experts have them."""
from typing import Any

from . import _exactile
from ._general import finish, product_types, scales_of, target_of
from ._libraries import library_of


def grouped_matmul(a: Any, b: Any, offsets: Any, *, out: Any = None, dtype: Any = None, accuracy: str = "standard",
                   backend: str = "auto", alpha: Any = 1, beta: Any = 0, row_scales: Any = None,
                   column_scales: Any = None, threads: int | None = None, reproducible: bool = False) -> Any:
    """Multiplies groups of rows of `a` by a matrix each: for every group g

        out[i:j] = alpha * a[i:j] @ b[g] + beta * out[i:j]   with i, j = offsets[g], offsets[g + 1]

    a has shape (rows, k), b (groups, k, n), a transposed view is read as it is; offsets has groups + 1 elements that
    ascend from 0 or more to rows at most. Sums are multiplied by row_scales, of shape (rows,), and by column_scales, of
    shape (groups, n), where these are given. Rows in no group are left as they are in `out`, and are not set without
    it. Arrays of NumPy, torch and CuPy, all in one memory. In host memory the bits are those of matmul(a[i:j], b[g]).
    On a CUDA device of compute capability 9.0 it is one launch on the library's current stream, of float16, bfloat16,
    or float8_e4m3fn under "reduced", each also with dtype float32. The launch reads int64 offsets on the device, so a
    captured graph serves every routing; bad offsets are clamped there, not refused. `dtype`, `accuracy`, `backend`,
    `threads` and `reproducible` as matmul() has them.
    """
    library = library_of(a, b, out)
    if library.own_matmul is not None:
        raise TypeError("grouped_matmul: expected arrays of NumPy, torch or CuPy, which can be written to")
    with library:
        a, b = library.array(a, "a"), library.array(b, "b")
        types = product_types(library, a, b, out, dtype, backend)
        if len(a.shape) != 2 or len(b.shape) != 3:
            raise ValueError(f"grouped_matmul: a has shape {tuple(a.shape)} and b {tuple(b.shape)}: expected (rows, k) "
                             "and (groups, k, n)")
        target = target_of(library, out, (a.shape[0], b.shape[2]), types, beta, like=a)
        if target is not out and out is not None and beta == 0:  # rows in no group keep what they have
            target = library.copy(out, types.computed)
        ends = library.contiguous(library.array(offsets, "offsets", a), "int64")
        _exactile.grouped_multiply(
            library.view(library.convert(a, types.inputs)), library.view(library.convert(b, types.inputs_b)),
            library.view(target), library.view(ends), accuracy=accuracy, backend=backend, alpha=alpha, beta=beta,
            row_scales=scales_of(library, row_scales, types, a),
            column_scales=scales_of(library, column_scales, types, a), threads=threads, reproducible=reproducible,
            stream=library.stream(a))
        return finish(library, target, out, types)
