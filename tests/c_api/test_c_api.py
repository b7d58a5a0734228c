# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import os
import re
import subprocess
import threading

import numpy as np
import pytest
from interface import CODE, ENUMS, FUNCTIONS, STRUCTS, described, error, library, make

OK, INVALID, UNSUPPORTED = (ENUMS["EXACTILE_" + name] for name in ("OK", "INVALID_ARGUMENT", "UNSUPPORTED"))
DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64,
          "CF32": np.complex64, "CF64": np.complex128}


def matrices(m, n, k, dtype):
    rng = np.random.default_rng(m * 10007 + n * 101 + k)
    whole = lambda *shape: rng.integers(-4, 5, shape)  # sums of such numbers are exact in every type
    a, b, c = whole(m, k), whole(k, n), whole(m, n)
    if np.issubdtype(dtype, np.complexfloating):
        a, b, c = (x + 1j * whole(*x.shape) for x in (a, b, c))
    return [np.ascontiguousarray(x, dtype) for x in (a, b, c)]


def arguments(a, b, c, **fields):
    return make("gemm_arguments", a=a.ctypes.data, b=b.ctypes.data, c=c.ctypes.data, **fields)


def gemm(d, x, options=None):
    return library.exactile_gemm(ctypes.byref(d), ctypes.byref(x), options and ctypes.byref(options))


def text_of(function, *handles):
    needed = ctypes.c_size_t()
    assert function(*handles, None, 0, ctypes.byref(needed)) == OK
    buffer = ctypes.create_string_buffer(needed.value)
    assert function(*handles, buffer, needed.value, None) == OK
    text = buffer.value.decode()
    assert len(buffer.value) == needed.value - 1
    assert function(*handles, buffer, needed.value - 1, None) == INVALID and buffer.value == b""
    assert str(needed.value) in error()
    return text


def test_exports_are_the_headers():
    lines = subprocess.run(["nm", "-D", "--defined-only", os.environ["EXACTILE_SHARED"]], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    exported = sorted(line.split()[2] for line in lines if line.split()[1] != "A")
    assert exported == [name + "@@EXACTILE_0.1" for name in FUNCTIONS]


def test_every_struct_that_is_passed_begins_with_its_size():
    passed = set(re.findall(r"(exactile_\w+)\* \w+", CODE)) & set(STRUCTS)
    assert len(passed) == 4
    for name in passed:
        assert STRUCTS[name]._fields_[0] == ("size", ctypes.c_size_t)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (33, 65, 129)])
def test_product_with_alpha_and_beta(name, shape):
    a, b, c = matrices(*shape, DTYPES[name])
    alpha, beta = np.array([3], a.dtype), np.array([-2], a.dtype)
    expected = alpha * (a @ b) + beta * c
    d = described(*shape, (name, name))
    assert gemm(d, arguments(a, b, c, alpha=alpha.ctypes.data, beta=beta.ctypes.data)) == OK, error()
    np.testing.assert_array_equal(c, expected)
    assert library.exactile_type_size(d.input_type) == a.itemsize


@pytest.mark.parametrize("name", ("CF32", "CF64"))
def test_conjugated_operands_and_a_d_of_its_own(name):
    a, b, c = matrices(5, 7, 3, DTYPES[name])
    before, out, beta = c.copy(), np.empty_like(c), np.array([2 - 1j], c.dtype)
    d = described(5, 7, 3, (name, name))
    d.a.conjugate = 1
    d.has_d, d.d.row_stride, d.d.column_stride = 1, 7, 1
    assert gemm(d, arguments(a, b, c, beta=beta.ctypes.data, d=out.ctypes.data)) == OK, error()
    np.testing.assert_array_equal(out, a.conj() @ b + beta * before)
    np.testing.assert_array_equal(c, before)
    assert gemm(d, arguments(a, b, c)) == INVALID and "d = null" in error()


@pytest.mark.parametrize("type_a,type_b", (("U8", "U8"), ("U8", "I8"), ("I8", "U8"), ("I16", "I16")))
def test_small_integers(type_a, type_b):
    m, n, k = 9, 17, 300
    dtypes = {"U8": np.uint8, "I8": np.int8, "I16": np.int16}
    rng = np.random.default_rng(1)
    a, b = (rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape, t)
            for t, shape in ((dtypes[type_a], (m, k)), (dtypes[type_b], (k, n))))
    c = rng.integers(-99, 99, (m, n), np.int32)
    beta = np.array([2], np.int32)
    expected = (a.astype(np.int64) @ b.astype(np.int64) + 2 * c).astype(np.int32)
    d = described(m, n, k, (type_a, "I32"), b_type=0 if type_a == type_b else ENUMS["EXACTILE_" + type_b])
    assert gemm(d, arguments(a, b, c, beta=beta.ctypes.data)) == OK, error()
    np.testing.assert_array_equal(c, expected)


def test_sums_of_64_bits():
    a, b, c = np.full((2, 8), -2**31, np.int32), np.full((8, 3), 2**31 - 1, np.int32), np.ones((2, 3), np.int64)
    alpha, beta = np.array([3], np.int64), np.array([2**40], np.int64)
    assert gemm(described(2, 3, 8, ("I32", "I64")),
                arguments(a, b, c, alpha=alpha.ctypes.data, beta=beta.ctypes.data)) == OK, error()
    assert (c == (3 * 8 * -2**31 * (2**31 - 1) + 2**40 + 2**63) % 2**64 - 2**63).all()


def test_integers_above_2_53_survive():
    a, b, c = (np.array([[v]], np.int64) for v in (1, 1, 0))
    alpha = np.array([2**62 + 1], np.int64)
    assert gemm(described(1, 1, 1, ("I64", "I64")), arguments(a, b, c, alpha=alpha.ctypes.data)) == OK
    assert c[0, 0] == 2**62 + 1


def test_plan_prepare_and_explain():
    a, b, c = matrices(8, 64, 32, np.float32)
    d, x = described(8, 64, 32), arguments(a, b, c)
    plan, prepared = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.exactile_plan_make(ctypes.byref(d), None, ctypes.byref(plan)) == OK
    assert library.exactile_plan_run(plan, ctypes.byref(x), None) == OK
    np.testing.assert_array_equal(c, a @ b)
    assert library.exactile_plan_prepare(plan, 1, x.b, None, ctypes.byref(prepared)) == OK
    assert library.exactile_prepared_bytes(prepared) >= 0
    c[:] = -1
    x.b, x.prepared_b = None, prepared.value
    execution = make("execution")
    assert library.exactile_plan_run(plan, ctypes.byref(x), ctypes.byref(execution)) == OK, error()
    np.testing.assert_array_equal(c, a @ b)
    explained = json.loads(text_of(library.exactile_plan_explain_json, plan))
    assert explained["m"] == 8 and explained["kernel"] in text_of(library.exactile_plan_explain, plan)
    assert library.exactile_plan_workspace_bytes(plan) == explained["workspace_bytes"]
    library.exactile_prepared_destroy(prepared)
    library.exactile_plan_destroy(plan)


def test_error_bound_is_that_of_types_depth_and_accuracy():
    u = 2.0**-24
    gamma = 100 * u / (1 - 100 * u)  # of 97 terms, and three for alpha, beta and the bias
    for accuracy, types, due in (("STANDARD", ("F32", "F32"), (0, gamma)),
                                 ("COMPENSATED", ("F32", "F32"), (u, gamma**2)),
                                 ("CORRECTLY_ROUNDED", ("F32", "F32"), (u, 0)),
                                 ("STANDARD", ("I32", "I32"), (0, 0))):
        d, plan = described(4, 5, 97, types), ctypes.c_void_p()
        o = make("gemm_options", accuracy=ENUMS["EXACTILE_" + accuracy])
        assert library.exactile_plan_make(ctypes.byref(d), ctypes.byref(o), ctypes.byref(plan)) == OK, error()
        of_result, of_terms = ctypes.c_double(-1), ctypes.c_double(-1)
        assert library.exactile_plan_error_bound(plan, ctypes.byref(of_result), ctypes.byref(of_terms)) == OK
        assert (of_result.value, of_terms.value) == due
        explained = json.loads(text_of(library.exactile_plan_explain_json, plan))
        assert explained["error_bound"] == {"of_result": due[0], "of_terms": due[1]}
        assert library.exactile_plan_error_bound(plan, None, ctypes.byref(of_terms)) == INVALID
        assert "of_result = null" in error()
        library.exactile_plan_destroy(plan)


def test_lists():
    kernels = json.loads(text_of(library.exactile_kernels_json))["kernels"]
    assert {"cpu_naive"} <= {kernel["name"] for kernel in kernels}
    devices = json.loads(text_of(library.exactile_devices_json))["devices"]
    assert devices[0]["backend"] == "cpu" and devices[0]["available"]
    assert library.exactile_version().decode().count(".") == 2


def bad_products():
    """(what is wrong, how to make it wrong, code, a word of the sentence)"""
    def put(field, value):
        return lambda d, x, o: setattr(d, field, value)
    def put_x(field, value):
        return lambda d, x, o: setattr(x, field, value)
    def put_o(field, value):
        return lambda d, x, o: setattr(o, field, value)
    def layout(operand, field, value):
        return lambda d, x, o: setattr(getattr(d, operand), field, value)
    big = 2**62
    return [
        ("short description", put("size", 16), INVALID, "description->size = 16"),
        ("short arguments", put_x("size", 0), INVALID, "arguments->size = 0"),
        ("short options", put_o("size", 8), INVALID, "options->size = 8"),
        ("absurd size", put("size", 2**63), INVALID, "description->size"),
        ("negative m", put("m", -1), INVALID, "m = -1"),
        ("negative k", put("k", -5), INVALID, "k = -5"),
        ("negative batch", put("batch_count", -2), INVALID, "batch_count = -2"),
        ("overflowing m", put("m", big), INVALID, str(big)),
        ("overflowing stride", layout("a", "row_stride", big), INVALID, "a is"),
        ("overflowing lowest stride", layout("b", "row_stride", -(2**63)), INVALID, "b is"),
        ("input type", put("input_type", 0), INVALID, "input_type = 0"),
        ("output type", put("output_type", 99), INVALID, "output_type = 99"),
        ("pair of types", put("output_type", ENUMS["EXACTILE_I8"]), UNSUPPORTED, "types"),
        ("type of B", put("b_type", 99), INVALID, "b_type = 99"),
        ("type of B beside A's", put("b_type", ENUMS["EXACTILE_I8"]), UNSUPPORTED, "f32xi8"),
        ("C's stride", layout("c", "row_stride", 0), INVALID, "c's"),
        ("flag", layout("c", "pointer_array", 2), INVALID, "c.pointer_array = 2"),
        ("scales flag", put("row_scales", -1), INVALID, "row_scales = -1"),
        ("scales without numbers", put("row_scales", 1), INVALID, "row_scales = null"),
        ("bias", put("bias", 3), INVALID, "bias = 3"),
        ("bias without vector", put("bias", 1), INVALID, "bias = null"),
        ("activation", put("activation", -1), INVALID, "activation = -1"),
        ("accuracy", put_o("accuracy", 4), INVALID, "accuracy = 4"),
        ("reproducible", put_o("reproducible", 2), INVALID, "reproducible = 2"),
        ("memory", put_o("memory", 2), INVALID, "memory = 2"),
        ("threads", put_o("threads", -1), INVALID, "threads = -1"),
        ("device", put_o("device", -1), INVALID, "device = -1"),
        ("backend", put_o("backend", b"abacus"), ENUMS["EXACTILE_UNKNOWN_NAME"], "abacus"),
        ("kernel", put_o("kernel", b"abacus"), ENUMS["EXACTILE_UNKNOWN_NAME"], "abacus"),
        ("null a", put_x("a", None), INVALID, "a = null"),
        ("null b", put_x("b", None), INVALID, "b = null"),
        ("null c", put_x("c", None), INVALID, "c = null"),
        ("c is a", lambda d, x, o: setattr(x, "c", x.a), INVALID, "c shares memory with a"),
        ("c overlaps b", lambda d, x, o: setattr(x, "c", x.b + 4), INVALID, "c shares memory with b"),
    ]


@pytest.mark.parametrize("wrong", bad_products(), ids=lambda wrong: wrong[0].replace(" ", "-"))
def test_bad_arguments_are_a_code_and_a_sentence(wrong):
    _, spoil, code, word = wrong
    a, b, c = matrices(4, 6, 5, np.float32)
    before = c.copy()
    d, x, o = described(4, 6, 5), arguments(a, b, c), make("gemm_options")
    assert gemm(d, x, o) == OK, error()
    c[:] = before
    spoil(d, x, o)
    assert gemm(d, x, o) == code, error()
    assert word in error()
    np.testing.assert_array_equal(c, before)


def test_null_handles():
    context = ctypes.c_void_p(1)
    for call, word in (
        (lambda: library.exactile_gemm(None, None, None), "description = null"),
        (lambda: library.exactile_plan_make(None, None, None), "plan = null"),
        (lambda: library.exactile_plan_run(None, None, None), "plan = null"),
        (lambda: library.exactile_plan_error_bound(None, None, None), "plan = null"),
        (lambda: library.exactile_plan_explain(None, None, 0, None), "plan = null"),
        (lambda: library.exactile_kernels_json(None, 0, None), "buffer = null"),
        (lambda: library.exactile_context_make(None, 0, ctypes.byref(context)), "backend = null"),
        (lambda: library.exactile_context_execution(None, None), "context = null"),
        (lambda: library.exactile_context_synchronize(None), "context = null"),
        (lambda: library.exactile_device_memory_make(None, 8, None), "memory = null"),
        (lambda: library.exactile_device_memory_upload(None, None, 8, 0), "memory = null"),
    ):
        assert call() == INVALID and word in error()
    assert context.value is None
    for destroy in (name for name in FUNCTIONS if name.endswith("_destroy")):
        getattr(library, destroy)(None)


def test_a_later_headers_fields_are_passed_over_only_where_they_are_zero():
    a, b, c = matrices(4, 6, 5, np.float32)
    d, x = described(4, 6, 5), arguments(a, b, c)
    longer = bytearray(bytes(d) + bytes(24))
    longer[0:8] = len(longer).to_bytes(8, "little")
    assert library.exactile_gemm((ctypes.c_char * len(longer)).from_buffer(longer), ctypes.byref(x), None) == OK
    longer[-1] = 1
    status = library.exactile_gemm((ctypes.c_char * len(longer)).from_buffer(longer), ctypes.byref(x), None)
    assert status == UNSUPPORTED and "older" in error()


def test_error_text_belongs_to_the_thread():
    d, x = described(4, 6, 5), make("gemm_arguments")
    assert gemm(d, x) == INVALID
    mine, theirs = error(), []
    thread = threading.Thread(target=lambda: theirs.append(error()))
    thread.start()
    thread.join()
    assert mine and theirs == [""]


def test_a_processor_has_no_context():
    context = ctypes.c_void_p()
    assert library.exactile_context_make(b"cpu", 0, ctypes.byref(context)) == UNSUPPORTED
    assert context.value is None and "cpu" in error()


def test_device_memory_has_addresses_inside_alone():
    context, memory = ctypes.c_void_p(), ctypes.c_void_p()
    if library.exactile_context_make(b"opencl", 0, ctypes.byref(context)) != OK:
        pytest.skip(error())
    assert library.exactile_device_memory_make(context, 16, ctypes.byref(memory)) == OK, error()
    at = library.exactile_device_memory_at
    at.restype, at.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int64)
    assert at(memory, 0) and at(memory, 15) and at(memory, 0) != at(memory, 15)
    assert [at(memory, offset) for offset in (-1, 16, 17)] == [None] * 3
    library.exactile_device_memory_destroy(memory)
    library.exactile_context_destroy(context)
