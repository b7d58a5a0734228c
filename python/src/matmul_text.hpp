// SPDX-License-Identifier: Apache-2.0
/// \file What help(exactile.matmul) says.
#pragma once

namespace exactile::python {

inline constexpr char multiply_signature[] =
    "def multiply(a: View, b: View, out: View, *, accuracy: str = 'standard', backend: str = 'auto', "
    "alpha: typing.Any = 1, beta: typing.Any = 0, bias: View | None = None, activation: str | None = None, "
    "row_scales: View | None = None, column_scales: View | None = None, threads: int | None = None, "
    "reproducible: bool = False, stream: int = 0) -> None";

inline constexpr char matmul_text[] =
    "matmul(a, b, /, *, out=None, dtype=None, accuracy='standard', backend='auto', alpha=1, beta=0, bias=None, "
    "activation=None, row_scales=None, column_scales=None, threads=None, reproducible=False)\n--\n\n"
    R"(Matrix product of two arrays, by numpy.matmul's rules.

activation(alpha * row_scales[:, None] * (a @ b) * column_scales + beta * out + bias), each step in the type that sums.

Parameters
----------
a, b : array_like
    Of shape (..., m, k) and (..., k, n); stacks are broadcast, a vector is a row (a) or a column (b). NumPy arrays and
    what can become one; torch's and CuPy's (for anything with `__cuda_array_interface__`) in host memory or on a CUDA
    device; JAX's (exactile.jax has more) and anything with `__dlpack__` in host memory. Any strides, without a copy.
    Both are only read.
out : array, optional
    Where the result goes: of its shape and type, sharing no element with a or b (ValueError).
dtype : data-type, optional
    Type of the result. float16, bfloat16 and 8-bit floats can be multiplied into float32, 8-bit floats also into
    bfloat16, int8 into int32, and by the processor uint8 and int16 into int32 and int32 into int64, without a rounding
    or a copy before; otherwise a and b are converted to it, as NumPy does (casting 'same_kind'). The default is
    NumPy's: the type to which those of a and b are promoted; 8-bit floats give float32.
accuracy : {'standard', 'reduced', 'compensated', 'correctly_rounded'}
    What is promised about the error; docs/accuracy.md has the bounds.
backend : {'auto', 'cpu', 'cuda', 'opencl'}
    'auto' is what EXACTILE_BACKEND names, else the planner's choice. Arrays on a GPU are multiplied there.
alpha, beta : number
    Factors of the product and of what `out` holds. beta = 0 does not read it.
bias : array_like, optional
    Of shape (n,), added to each row, or (m, 1), added to each column.
activation : {None, 'relu', 'gelu'}
row_scales, column_scales : array_like, optional
    Factors of the m rows of a and of the n columns of b, real floating types only.
threads : int, optional
    Upper limit; None takes that of set_threads(), else the library's. The bits of the result do not depend on it.
reproducible : bool
    The bits of an element depend on k, its row of a and its column of b alone, whatever the other sizes and strides
    are.

Returns
-------
An array of the library that a and b are of, on their device; a scalar where both are vectors. A NumPy result above
32 MiB lies where the last such one lay that was dropped, if that had its size: one of them stays with the process.

Raises
------
ValueError where shapes do not fit, TypeError for types that cannot be multiplied, NotImplementedError where no kernel
of this machine can do it, MemoryError, and RuntimeError for what a device says.

The GIL is released while the product is computed, and any number of threads may call. What overlaps `out`, or is
changed meanwhile by another thread, has no defined result.
)";

}  // namespace exactile::python
