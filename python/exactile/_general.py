# SPDX-License-Identifier: Apache-2.0
"""matmul() of whatever cannot be multiplied as it is: arrays of any library are brought into a form that can."""
from typing import Any

from . import _exactile
from ._libraries import Library, library_of
from ._types import BYTES, Types, on_processor, sums_in, types_of


def matmul(a: Any, b: Any, out: Any, dtype: Any, accuracy: str, backend: str, alpha: Any, beta: Any, bias: Any,
           activation: str | None, row_scales: Any, column_scales: Any, threads: int | None,
           reproducible: bool) -> Any:
    """exactile.matmul(), its arguments by position."""
    library = library_of(a, b, out)
    if library.own_matmul is not None:
        return library.own_matmul(a, b, out, dtype, accuracy, backend, alpha, beta, bias, activation, row_scales,
                                  column_scales, threads, reproducible)
    with library:
        a, b = library.array(a, "a"), library.array(b, "b")
        types = product_types(library, a, b, out, dtype, backend)
        if activation is not None and types.result.startswith(("uint", "bool")):
            raise TypeError(f"matmul: activation = {activation!r}: expected None for products of {types.result}, which "
                            "have no sign")
        view_a = library.view(library.convert(a, types.inputs))
        view_b = library.view(library.convert(b, types.inputs_b))
        shape = _exactile.matmul_shape(view_a, view_b)
        target = target_of(library, out, shape, types, beta, like=a)
        _exactile.multiply(
            view_a, view_b, library.view(target), accuracy=accuracy, backend=backend, alpha=alpha, beta=beta,
            bias=_bias(library, bias, types, a), activation=activation,
            row_scales=scales_of(library, row_scales, types, a),
            column_scales=scales_of(library, column_scales, types, a), threads=threads, reproducible=reproducible,
            stream=library.stream(a))
        return finish(library, target, out, types)


def product_types(library: Library, a: Any, b: Any, out: Any, dtype: Any, backend: str) -> Types:
    """The types of a @ b, as `dtype` or the type of `out` asks for them."""
    common = library.common(a, b)
    processor = on_processor(library.in_host_memory, backend)
    wanted = None if dtype is None else library.type_name(dtype)
    if wanted is None and library.owns(out):
        held = library.name(out)
        try:
            if types_of(common, held, processor).inputs == common:  # its own widening product, nothing rounded between
                wanted = held
        except TypeError:
            pass
    types = types_of(common, wanted, processor)
    if types.inputs != common:
        library.check_cast(common, types.inputs if types.inputs == types.result else types.result)
    of_a, of_b = library.name(a), library.name(b)
    if processor and types.computed == "int32" and of_a != of_b and {of_a, of_b} == BYTES:
        return types._replace(inputs=of_a, inputs_b=of_b)
    return types


def target_of(library: Library, out: Any, shape: tuple[int, ...], types: Types, beta: Any, like: Any) -> Any:
    """Where the library writes: `out`, or an array beside it where it cannot write there."""
    if out is None:
        if beta != 0:
            raise ValueError("matmul: beta is given without out, the array that it scales")
        return library.empty(shape, types.computed, like)
    if not library.owns(out):
        raise TypeError(f"matmul: out is of type {type(out).__name__}: expected an array of the library of a and b")
    if tuple(out.shape) != shape:
        raise ValueError(f"matmul: out has shape {tuple(out.shape)}: expected {shape}")
    if not library.is_writable(out):
        raise ValueError("matmul: out is read-only")
    if library.name(out) == types.computed and library.can_write_to(out):
        return out
    return library.empty(shape, types.computed, like) if beta == 0 else library.copy(out, types.computed)


def finish(library: Library, target: Any, out: Any, types: Types) -> Any:
    if out is None:
        return library.finish(library.convert(target, types.result))
    if target is not out:
        library.assign(out, library.convert(target, types.result))
    return out


def _bias(library: Library, bias: Any, types: Types, like: Any) -> Any:
    if bias is None:
        return None
    bias = library.contiguous(library.array(bias, "bias", like), types.computed)
    if len(bias.shape) == 2 and bias.shape[1] != 1 and bias.shape[0] == 1:
        bias = bias[0]
    return library.view(bias)


def scales_of(library: Library, scales: Any, types: Types, like: Any) -> Any:
    if scales is None:
        return None
    return library.view(library.contiguous(library.array(scales, "scales", like), sums_in(types.inputs)))
