# SPDX-License-Identifier: Apache-2.0
"""Input files that are not as they should be: refused with exit code 3, the name, the value and what was expected."""
import os
import resource
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, SANITIZED

GOOD = {"descr": "'<f4'", "fortran_order": "False", "shape": "(3, 3)"}


def npy(header, data=b"\0" * 36, version=1):
    text = header.encode() + b"\n"
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def dict_of(**changes):
    return "{" + ", ".join(f"'{key}': {value}" for key, value in {**GOOD, **changes}.items()) + "}"


@pytest.fixture
def refuses(program):
    """Writes bytes to bad.npy and multiplies it by a good file, on either side."""
    np.save(program.folder / "good.npy", np.ones((3, 3), "f4"))

    def check(content, *says):
        (program.folder / "bad.npy").write_bytes(content)
        for operands in (("bad.npy", "good.npy"), ("good.npy", "bad.npy")):
            program.refuses("multiply", *operands, "-o", "c.npy", code=3, says=["bad.npy", *says])

    return check


def test_the_helpers_make_good_files(program):
    (program.folder / "a.npy").write_bytes(npy(dict_of()))
    program("multiply", "a.npy", "a.npy", "-o", "c.npy")


def test_missing(program):
    np.save(program.folder / "good.npy", np.ones((3, 3), "f4"))
    program.refuses("multiply", "good.npy", "none.npy", "-o", "c.npy", code=3, says=["none.npy", "No such file"])
    program.refuses("multiply", "good.npy", "good.npy", "--c", "none.npy", "--beta", "1", "-o", "c.npy", code=3,
                    says="none.npy")


def test_folders_and_pipes(program):
    (program.folder / "folder").mkdir()
    os.mkfifo(program.folder / "pipe")
    program.refuses("multiply", "folder", "folder", "-o", "c.npy", code=3, says=["folder", "is a folder"])
    program.refuses("multiply", "pipe", "pipe", "-o", "c.npy", code=3, says=["pipe", "regular file"])


def test_empty(refuses):
    refuses(b"", "is empty")


def test_every_truncation(refuses):
    whole = npy(dict_of())
    for length in (1, 5, 6, 7, 8, 9, 10, 30, len(whole) - 37, len(whole) - 36, len(whole) - 1):
        refuses(whole[:length], "truncated")


def test_over_long(refuses):
    refuses(npy(dict_of()) + b"\0", "over-long", "36 bytes", "37")


def test_other_kinds_of_files(refuses):
    refuses(b"1,2,3\n4,5,6\n", "not an .npy file")
    refuses(b"PK\x03\x04" + b"\0" * 40, "zip")
    refuses(npy(dict_of(), version=4), "version is 4.0")
    refuses(npy(dict_of(), version=0), "version is 0.0")


@pytest.mark.parametrize("array", [np.array([[None, 1], [2, 3]]), np.array([["a", "b"]]), np.array([[b"a", b"b"]]),
                                   np.zeros((2, 2), [("x", "f4")]), np.zeros((2, 2), "V8"),
                                   np.zeros((2, 2), [("x", "f4", (2,))])], ids=lambda array: str(array.dtype))
def test_not_numbers(refuses, program, array):
    np.save(program.folder / "array.npy", array, allow_pickle=True)
    words = {"O": "objects", "U": "strings", "S": "strings", "V": "structured"}[array.dtype.kind]
    refuses((program.folder / "array.npy").read_bytes(), words, "expected")


def test_subarray_type(refuses):
    refuses(npy(dict_of(descr="('<f4', (2,))")), "sub-array")


@pytest.mark.parametrize("dtype", ["u8", "g", "M8[s]", "m8[s]", "G"])
def test_unsupported_types(refuses, program, dtype):
    np.save(program.folder / "array.npy", np.zeros((3, 3), dtype))
    refuses((program.folder / "array.npy").read_bytes(), "expected one of f2 f4 f8 i1 u1 i2 i4 i8 c8 c16 b1 u2 u4")


@pytest.mark.parametrize("header,says", [
    ("", "expected '{'"), ("{", "expected"), ("{}", "no key 'descr'"), (dict_of()[:-1], "expected '}'"),
    (dict_of() + "x", "nothing after"), (dict_of(extra="1"), "key 'extra'"),
    ("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 3)}", "twice"),
    ("{'descr': '<f4', 'shape': (3, 3)}", "no key 'fortran_order'"),
    ("{'descr': '<f4', 'fortran_order': False}", "no key 'shape'"),
    ("{'descr' '<f4'}", "expected ':'"), ("['descr']", "expected '{'"),
    (dict_of(descr="'<f4"), "expected"), (dict_of(descr="<f4"), "a type in quotes"), (dict_of(descr="''"), "empty"),
    (dict_of(descr="'<'"), "empty"), (dict_of(descr="'<f4\\x00'"), "backslash"),
    (dict_of(descr="'\x1b[31m<f4'"), "printable ASCII"), (dict_of(**{"\x1b]0;x\x07": "1"}), "printable ASCII"),
    (dict_of(descr="4"), "in quotes"),
    (dict_of(descr="'f4f4'"), "f4f4"), (dict_of(descr="'<f16'"), "f16"),
    (dict_of(fortran_order="1"), "True or False"), (dict_of(fortran_order="'False'"), "True or False"),
    (dict_of(shape="9"), "expected '('"), (dict_of(shape="(9)"), "tuple"), (dict_of(shape="[3, 3]"), "expected '('"),
    (dict_of(shape="(3 3)"), "expected"), (dict_of(shape="(,)"), "dimension"), (dict_of(shape="(3,,3)"), "dimension"),
    (dict_of(shape="(3.0, 3)"), "expected"), (dict_of(shape="(+3, 3)"), "dimension"),
    (dict_of(shape="(-3, -3)"), "negative"), (dict_of(shape="(3, -3)"), "negative"),
    (dict_of(shape="(99999999999999999999, 1)"), "64 bits"),
    (dict_of(shape="(4294967296, 4294967296)"), "64 bits"),
    (dict_of(shape="(0, 4294967296, 4294967296, 4294967296)"), "64 bits"),
    (dict_of(shape="(" + "1, " * 65 + ")"), "more than 64 dimensions"),
    (dict_of(shape="__import__('os')"), "expected '('"), ("\0" * 60, "expected '{'"),
])
def test_malformed_headers(refuses, header, says):
    refuses(npy(header), says)


@pytest.mark.skipif(SANITIZED, reason="sanitizers map terabytes")
@pytest.mark.parametrize("shape", ["(100000, 100000)", "(1000000, 1000000)", "(3, 768614336404564650)",
                                   "(2305843009213693951,)"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_nothing_is_allocated_from_the_headers_word(program, shape, version):
    (program.folder / "liar.npy").write_bytes(npy(dict_of(shape=shape), version=version))
    limit = 256 << 20
    program.refuses("multiply", "liar.npy", "liar.npy", "-o", "c.npy", code=3, says=["liar.npy", "truncated", "36"],
                    limits=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def test_header_length_that_lies(refuses):
    text = dict_of().encode() + b"\n"
    for length in (0xFFFFFFFF, 0x7FFFFFFF, len(text) + 37):
        refuses(b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little") + text + b"\0" * 36, "truncated")


def test_random_damage_never_crashes(program):
    """Bytes of a good header changed at random: every answer is a clean one."""
    random = np.random.default_rng(7)
    np.save(program.folder / "good.npy", np.ones((3, 3), "f4"))
    whole = (program.folder / "good.npy").read_bytes()
    for _ in range(150):
        damaged = bytearray(whole)
        for place in random.integers(0, 128, random.integers(1, 4)):
            damaged[place] = random.integers(0, 256)
        (program.folder / "bad.npy").write_bytes(damaged)
        done = subprocess.run([PROGRAM, "multiply", "bad.npy", "good.npy", "-o", "c.npy"], cwd=program.folder,
                              capture_output=True, timeout=60)
        assert done.returncode in (0, 3), done.stderr
