# SPDX-License-Identifier: Apache-2.0
"""Products of good files, against NumPy."""
import os
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, SANITIZED

ROUNDOFF = {"f2": 2.0**-24, "f4": 2.0**-24, "f8": 2.0**-53, "c8": 2.0**-24, "c16": 2.0**-53}
FLOATS = ["f2", "f4", "f8", "c8", "c16"]
INTEGERS = ["i1", "i4", "i8"]


def sample(random, shape, dtype):
    if dtype in INTEGERS:
        bits = 8 * np.dtype(dtype).itemsize
        return random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape, dtype=dtype)
    values = random.standard_normal(shape)
    if dtype[0] == "c":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def assert_within_bound(c, a, b, dtype):
    """|C - AB| <= gamma_K |A||B|, and half a unit of the last place for a narrow result."""
    wide = np.complex128 if dtype[0] == "c" else np.float64
    exact = np.matmul(a.astype(wide), b.astype(wide))
    magnitude = np.matmul(np.abs(a.astype(wide)), np.abs(b.astype(wide)))
    k = a.shape[-1]
    # Complex products are sums of 2K terms; the reference itself errs by K * 2^-53.
    bound = (2 * k + 4) * (ROUNDOFF[dtype] + 2.0**-53) * magnitude
    if c.dtype == np.float16:
        bound = bound + 2.0**-11 * np.abs(exact) + 2.0**-25
    assert np.all(np.abs(c - exact) <= bound)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_types(program, random, dtype):
    a, b = sample(random, (37, 65), dtype), sample(random, (65, 41), dtype)
    c = program.multiply(a, b)
    assert c.dtype == np.dtype(dtype) and c.shape == (37, 41) and c.flags.c_contiguous
    assert_within_bound(c, a, b, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_exact_modulo_their_width(program, random, dtype):
    a, b = sample(random, (37, 65), dtype), sample(random, (65, 41), dtype)
    out = "i4" if dtype == "i1" else dtype
    c = program.multiply(a, b)
    assert c.dtype == np.dtype(out)
    assert np.array_equal(c, np.matmul(a.astype(out), b.astype(out)))


def test_output_type_of_choice(program, random):
    a, b = sample(random, (9, 300), "f2"), sample(random, (300, 8), "f2")
    c = program.multiply(a, b, "--out-type", "f32")
    assert c.dtype == np.float32
    assert_within_bound(c, a, b, "f2")
    program.refuses("multiply", "a.npy", "b.npy", "-o", "d.npy", "--out-type", "i32", code=2,
                    says=["--out-type i32", "f16, f32"])


@pytest.mark.parametrize("order_a", "CF")
@pytest.mark.parametrize("order_b", "CF")
@pytest.mark.parametrize("transposed", [(), ("a",), ("b",), ("a", "b")])
def test_orders_and_transposes(program, random, order_a, order_b, transposed):
    a, b = sample(random, (23, 31), "f8"), sample(random, (31, 19), "f8")
    stored_a = np.asarray(a.T if "a" in transposed else a, order=order_a)
    stored_b = np.asarray(b.T if "b" in transposed else b, order=order_b)
    c = program.multiply(stored_a, stored_b, *(f"--transpose-{operand}" for operand in transposed))
    assert_within_bound(c, a, b, "f8")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_file_versions(program, random, version):
    a, b = sample(random, (5, 6), "f4"), sample(random, (6, 7), "f4")
    for name, array in (("a", a), ("b", b)):
        with open(program.folder / f"{name}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
    program("multiply", "a.npy", "b.npy", "-o", "c.npy")
    assert_within_bound(np.load(program.folder / "c.npy"), a, b, "f4")


@pytest.mark.parametrize("offset", [77, 78, 81])
def test_unaligned_data(program, random, offset):
    a = sample(random, (12, 12), "f8")
    header = str({"descr": "<f8", "fortran_order": False, "shape": a.shape}).encode()
    header = header.ljust(offset - 11) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    assert len(raw) == offset and offset % 8 != 0
    (program.folder / "a.npy").write_bytes(raw + a.tobytes())
    program("multiply", "a.npy", "a.npy", "-o", "c.npy", "--verify")
    assert_within_bound(np.load(program.folder / "c.npy"), a, a, "f8")


def test_header_in_another_style(program):
    """Any order of keys, blanks, double quotes, and the L that Python 2 wrote."""
    header = b'{"shape" : ( 2L,2L ) ,\t"fortran_order":True,"descr":"=f4"}   \n'
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (program.folder / "a.npy").write_bytes(raw + np.array([1, 2, 3, 4], "f4").tobytes())
    program("multiply", "a.npy", "a.npy", "-o", "c.npy")
    a = np.array([[1, 3], [2, 4]], "f4")
    assert np.array_equal(np.load(program.folder / "c.npy"), a @ a)


@pytest.mark.parametrize("dtype,alpha,beta", [("f4", "2.5", "-0.5"), ("f8", "-1", "3"), ("i4", "-3", "7"),
                                              ("i8", "9007199254740993", "-1"), ("c16", "1+2j", "-0.5j"),
                                              ("c8", "2j", "1.5-1e-1j")])
@pytest.mark.parametrize("order", "CF")
def test_alpha_and_beta(program, random, dtype, alpha, beta, order):
    a, b, c0 = (sample(random, shape, dtype) for shape in ((11, 13), (13, 17), (11, 17)))
    np.save(program.folder / "c0.npy", np.asarray(c0, order=order))
    c = program.multiply(a, b, "--alpha", alpha, "--beta", beta, "--c", "c0.npy")
    kind = int if dtype[0] == "i" else complex
    x, y = kind(alpha), kind(beta)
    if dtype[0] == "i":
        scalar = np.dtype(dtype).type
        assert np.array_equal(c, scalar(x) * (a @ b) + scalar(y) * c0)
        return
    exact = x * (a.astype("c16") @ b.astype("c16")) + y * c0
    assert np.all(np.abs(c - exact) <= 100 * ROUNDOFF[dtype] * (abs(x) * np.abs(a) @ np.abs(b) + abs(y * c0)))


def test_beta_zero_does_not_read_c(program, random):
    a, b = sample(random, (4, 4), "f4"), sample(random, (4, 4), "f4")
    np.save(program.folder / "c0.npy", np.full((4, 4), np.nan, "f4"))
    assert_within_bound(program.multiply(a, b, "--c", "c0.npy", "--beta", "0"), a, b, "f4")


def test_c0_counts_once_where_nothing_else_is_said(program, random):
    a, b, c0 = (np.round(sample(random, (4, 4), "f4") * 8) for _ in range(3))
    np.save(program.folder / "c0.npy", c0)
    assert np.array_equal(program.multiply(a, b, "--c", "c0.npy"), a @ b + c0)
    assert "+ 1 * c0.npy" in program("multiply", "a.npy", "b.npy", "--c", "c0.npy", "-o", "d.npy").stdout


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i4", ">i8", ">c8", ">c16"])
def test_either_byte_order(program, random, dtype):
    a, b = (np.round(sample(random, (5, 5), dtype[1:]) * 4).astype(dtype[1:]) for _ in range(2))
    due = program.multiply(a, b)
    assert np.array_equal(program.multiply(a.astype(dtype), b), due)
    assert np.array_equal(program.multiply(np.asfortranarray(a), b.astype(dtype)), due)


@pytest.mark.parametrize("dtype,kind", [("u1", "i4"), ("u2", "i4"), ("i2", "i4"), (">i2", "i4"), (">u4", "i8"),
                                        ("u4", "i8"), ("?", "i4")])
def test_integers_of_other_widths(program, dtype, kind):
    """Read as integers that hold them, the largest and the smallest among them."""
    if dtype == "?":
        a = np.array([[True, False], [True, True]])
    else:
        limits = np.iinfo(dtype)
        a = np.array([[limits.max, limits.min], [limits.max // 3, 7]], dtype)
    c = program.multiply(a, a)
    wide = a.astype("i8").astype(object)
    width = 8 * np.dtype(kind).itemsize
    due = np.array([[(int(x) + 2 ** (width - 1)) % 2**width - 2 ** (width - 1) for x in row] for row in wide @ wide])
    assert c.dtype == np.dtype(kind) and np.array_equal(c.astype("i8"), due)


@pytest.mark.parametrize("of_a,of_b,types", [("u1", "u1", "u8->i32"), ("u1", "i1", "u8xi8->i32"),
                                             ("i1", "u1", "i8xu8->i32"), ("i2", ">i2", "i16->i32"),
                                             (">i2", "i4", "i32"), ("u1", "i2", "i32")])
def test_small_integers_are_multiplied_as_they_are(program, random, of_a, of_b, types):
    a, b = (random.integers(np.iinfo(t).min, np.iinfo(t).max, (30, 30)).astype(t) for t in (of_a, of_b))
    c = program.multiply(a, b, "--verify")
    assert c.dtype == np.dtype("i4") and np.array_equal(c, (a.astype("i8") @ b.astype("i8")).astype("i4"))
    assert program.json("multiply", "a.npy", "b.npy", "-o", "d.npy")["type"] == types


def test_sums_of_64_bits(program, random):
    a, b = (random.integers(-(2**31), 2**31, (40, 40)).astype("i4") for _ in range(2))
    c = program.multiply(a, b, "--out-type", "i64", "--verify")
    assert c.dtype == np.dtype("i8") and np.array_equal(c, a.astype("i8") @ b.astype("i8"))


def test_c0_of_small_integers(program):
    a, c0 = np.full((3, 3), 200, "u1"), np.full((3, 3), -5, "i2")
    np.save(program.folder / "c0.npy", c0)
    assert np.array_equal(program.multiply(a, a, "--c", "c0.npy"), np.full((3, 3), 3 * 200 * 200 - 5))


def test_other_spellings_of_types(program):
    """As numpy.dtype takes them."""
    a = np.array([[1, 2], [3, 4]])
    for spelling in ("f", "<f", ">f", "=d", "e", "F", "D", "i", "l", "q", "b", "h", "I", "B", "?", "<u1", "|b1"):
        header = f"{{'descr': '{spelling}', 'fortran_order': False, 'shape': (2, 2)}}\n".encode()
        raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        (program.folder / "a.npy").write_bytes(raw + a.astype(np.dtype(spelling)).tobytes())
        same = np.load(program.folder / "a.npy")
        program("multiply", "a.npy", "a.npy", "-o", "c.npy")
        assert np.array_equal(np.load(program.folder / "c.npy"), same.astype("c16") @ same.astype("c16")), spelling


def test_nan_and_infinity_come_through(program):
    a = np.array([[np.nan, 0], [np.inf, 1]], "f8")
    b = np.array([[0, 1], [1, 0]], "f8")
    assert np.array_equal(program.multiply(a, b), [[np.nan, np.nan], [np.nan, np.inf]], equal_nan=True)


def test_replaces_an_older_file_and_keeps_the_inputs(program, random):
    a = sample(random, (8, 8), "f4")
    (program.folder / "c.npy").write_bytes(b"old")
    assert_within_bound(program.multiply(a, a), a, a, "f4")
    assert np.array_equal(np.load(program.folder / "a.npy"), a)
    assert sorted(path.name for path in program.folder.iterdir()) == ["a.npy", "b.npy", "c.npy"]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_bits_do_not_depend_on_threads(program, random, threads):
    a, b = sample(random, (300, 400), "f4"), sample(random, (400, 500), "f4")
    many = program.multiply(a, b, "--threads", str(threads))
    assert np.array_equal(many, program.multiply(a, b, "--threads", "1"))


def test_report(program, random):
    np.save(program.folder / "a.npy", sample(random, (2, 30, 40), "f4"))
    np.save(program.folder / "b.npy", sample(random, (40, 20), "f4"))
    report = program.json("multiply", "a.npy", "b.npy", "-o", "c.npy", "--verify", "--kernel", "cpu_naive")
    assert report["schema"] == "exactile.multiply/1"
    assert report["c"] == {"path": "c.npy", "shape": [2, 30, 20], "type": "f32", "fortran_order": False}
    assert [report[key] for key in ("m", "n", "k", "batch", "kernel", "type")] == [30, 20, 40, 2, "cpu_naive", "f32"]
    assert report["verified"] and 0 <= report["error_over_bound"] <= 1
    assert set(report["seconds"]) == {"read", "product", "write"}
    assert (report["transpose_a"], report["transpose_b"]) == (False, False)
    text = program("multiply", "a.npy", "b.npy", "-o", "c.npy", "--verify").stdout
    assert "(2, 30, 20)" in text and "of the bound" in text


def test_report_says_what_was_computed(program, random):
    np.save(program.folder / "a.npy", sample(random, (40, 30), "f4"))
    np.save(program.folder / "c0.npy", sample(random, (30, 30), "f4"))
    options = ["multiply", "a.npy", "a.npy", "-o", "c.npy", "--transpose-a", "--alpha", "-2", "--beta", "0.5", "--c",
               "c0.npy"]
    assert program(*options).stdout.splitlines()[0] == (
        "c.npy (30, 30) f32 = -2 * a.npy (40, 30) f32 (transposed) * a.npy (40, 30) f32 + 0.5 * c0.npy")
    report = program.json(*options)
    assert report["transpose_a"] and not report["transpose_b"]
    assert [report[key] for key in ("alpha", "beta", "c0")] == ["-2", "0.5", "c0.npy"]


@pytest.mark.skipif(SANITIZED, reason="sanitizers take memory of their own")
@pytest.mark.parametrize("choice", [[], ["--backend", "cpu"], ["--kernel", "portable_blocked"], ["--threads", "16"]])
def test_memory_is_operands_and_little_more(program, random, choice):
    """No driver of another device is loaded for a product on the processor."""
    np.save(program.folder / "a.npy", sample(random, (2048, 2048), "f4"))
    process = subprocess.Popen([PROGRAM, "multiply", "a.npy", "a.npy", "-o", "c.npy", *choice],
                               cwd=program.folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    assert usage.ru_maxrss * 1024 <= (2 * 16 + 16 + 64) << 20


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_scales_of_rows_and_columns(program, random, dtype):
    a, b = sample(random, (3, 17, 30), dtype), sample(random, (30, 9), dtype)
    sums = "f8" if dtype == "f8" else "f4"
    rows, columns = random.uniform(0.5, 2, 17).astype(sums), random.uniform(0.5, 2, 9).astype(sums)
    np.save(program.folder / "rows.npy", rows)
    np.save(program.folder / "columns.npy", columns)
    c = program.multiply(a, b, "--row-scales", "rows.npy", "--column-scales", "columns.npy")
    assert_within_bound(c, a.astype("f8") * rows[:, None], b.astype("f8") * columns, dtype)


def test_scales_that_do_not_fit(program, random):
    np.save(program.folder / "a.npy", sample(random, (4, 5), "f2"))
    np.save(program.folder / "i.npy", sample(random, (4, 4), "i4"))
    np.save(program.folder / "five.npy", np.ones(5, "f4"))
    np.save(program.folder / "half.npy", np.ones(4, "f2"))
    product = ["multiply", "a.npy", "a.npy", "--transpose-b", "-o", "c.npy"]
    program.refuses(*product, "--row-scales", "five.npy", code=3, says=["five.npy", "(5,)", "(4,)", "row of A"])
    program.refuses(*product, "--column-scales", "half.npy", code=3, says=["half.npy", "f16", "f32"])
    program.refuses(*product, "--column-scales", "none.npy", code=3, says="none.npy")
    np.save(program.folder / "whole.npy", np.ones(4, "i4"))
    program.refuses("multiply", "i.npy", "i.npy", "-o", "c.npy", "--row-scales", "whole.npy", code=2,
                    says=["row_scales", "i32"])
    program.refuses("multiply", "i.npy", "i.npy", "-o", "c.npy", "--row-scales", "half.npy", code=2,
                    says=["row_scales", "i32"])
