# SPDX-License-Identifier: Apache-2.0
"""Which types a product has: those of its operands, of what the library computes, and of its result.

Types go by the names that NumPy, ml_dtypes, torch and JAX share, such as "bfloat16".
"""
from typing import NamedTuple

# Multiplied as they are, with a result of the same type.
SAME = frozenset({"float64", "float32", "float16", "bfloat16", "int64", "uint64", "int32", "uint32", "complex128",
                  "complex64"})
# Summed in a wider type and left there.
WIDENING = frozenset({("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32"),
                      ("float8_e4m3fn", "float32"), ("float8_e4m3fn", "bfloat16"),
                      ("float8_e5m2", "float32"), ("float8_e5m2", "bfloat16")})
# Without a product that ends in them: what they are multiplied as, modulo 2^32, before the result is cut to size.
SMALL = {"int8": "int8", "uint8": "int32", "int16": "int32", "uint16": "int32", "bool": "int32"}
# What the processor has beside these.
WIDENING_ON_PROCESSOR = frozenset({("uint8", "int32"), ("int16", "int32"), ("int32", "int64")})
SMALL_ON_PROCESSOR = {"uint8": "uint8", "int16": "int16", "bool": "uint8"}
BYTES = frozenset({"int8", "uint8"})


class Types(NamedTuple):
    """The names of a product's types."""

    inputs: str
    inputs_b: str
    computed: str
    result: str


def on_processor(in_host_memory: bool, backend: str) -> bool:
    """Whether the processor does products of arrays that lie there where no device has their types."""
    return in_host_memory and backend in ("auto", "automatic", "cpu")


def types_of(common: str, wanted: str | None, processor: bool = False) -> Types:
    """Of a product whose operands have the common type `common`, and a result of type `wanted` unless it is None;
    `processor`: see on_processor().

    Raises TypeError where there is none.
    """
    if wanted is None:
        wanted = "float32" if common.startswith("float8") else common
    if (common, wanted) in WIDENING or (processor and (common, wanted) in WIDENING_ON_PROCESSOR):
        return Types(common, common, wanted, wanted)
    if wanted in SAME:
        return Types(wanted, wanted, wanted, wanted)
    if wanted in SMALL:
        inputs = processor and SMALL_ON_PROCESSOR.get(wanted) or SMALL[wanted]
        return Types(inputs, inputs, "int32", wanted)
    raise TypeError(f"matmul: there are no products of type {wanted}. Expected real, complex or integer numbers whose "
                    "parts have up to 64 bits (objects, records, strings and dates cannot be multiplied); 8-bit floats "
                    "are float8_e4m3fn or float8_e5m2, and their products float32 or bfloat16")


def sums_in(inputs: str) -> str:
    """The type in which products of real numbers of this type are summed."""
    return "float64" if inputs == "float64" else "float32"
