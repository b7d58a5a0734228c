# SPDX-License-Identifier: Apache-2.0
"""The structs of exactile.h for ctypes, their fields read out of the header, so that the two cannot differ."""
import ctypes
import os
import re

HEADER = open(os.environ["EXACTILE_HEADER"], encoding="utf-8").read()
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
TYPES = {"size_t": ctypes.c_size_t,
         "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "const char*": ctypes.c_char_p}

ENUMS = {name: int(value) for name, value in re.findall(r"\b(EXACTILE_\w+) = (\d+)", CODE)}
FUNCTIONS = sorted(set(re.findall(r"EXACTILE_API[^;]*?\b(exactile_\w+)\(", CODE)))


def _struct(name, body):
    fields = []
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind, field = re.fullmatch(r"(.*[\s*])(\w+)", line, flags=re.S).groups()
        kind = " ".join(kind.split())
        fields.append((field, STRUCTS.get(kind) or TYPES.get(kind) or ctypes.c_void_p))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


STRUCTS = {}
for _name, _body in re.findall(r"typedef struct (exactile_\w+) \{(.*?)\} \1;", CODE, flags=re.S):
    STRUCTS[_name] = _struct(_name, _body)

library = ctypes.CDLL(os.environ["EXACTILE_SHARED"])
for _function in ("exactile_error_text", "exactile_version", "exactile_status_name"):
    getattr(library, _function).restype = ctypes.c_char_p
for _function in ("exactile_type_size", "exactile_plan_workspace_bytes", "exactile_prepared_bytes"):
    getattr(library, _function).restype = ctypes.c_int64


def make(name, **fields):
    """A struct that begins with its size."""
    struct = STRUCTS["exactile_" + name]
    return struct(size=ctypes.sizeof(struct), **fields)


def described(m, n, k, types=("F32", "F32"), **fields):
    """A product of contiguous matrices by rows."""
    d = make("gemm_description", m=m, n=n, k=k, batch_count=1, input_type=ENUMS["EXACTILE_" + types[0]],
             output_type=ENUMS["EXACTILE_" + types[1]], **fields)
    for layout, columns in ((d.a, k), (d.b, n), (d.c, n)):
        layout.row_stride, layout.column_stride = columns, 1
    return d


def error():
    return library.exactile_error_text().decode()
