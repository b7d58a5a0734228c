# SPDX-License-Identifier: Apache-2.0
"""numpy.matmul's rules for vectors, batches, broadcasting and empty arrays."""
import numpy as np
import pytest

FITTING = [
    ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)),
    ((1, 1), (1, 1)), ((1, 7), (7, 1)), ((7, 1), (1, 7)),
    ((5, 3, 4), (5, 4, 2)), ((5, 3, 4), (4, 2)), ((3, 4), (5, 4, 2)),
    ((5, 3, 4), (1, 4, 2)), ((1, 3, 4), (5, 4, 2)),
    ((2, 5, 3, 4), (2, 5, 4, 2)), ((2, 1, 3, 4), (1, 5, 4, 2)), ((2, 1, 3, 4), (5, 4, 2)),
    ((5, 3, 4), (2, 1, 4, 2)), ((2, 5, 3, 4), (2, 1, 4, 2)), ((2, 3, 1, 3, 4), (3, 5, 4, 2)),
    ((6, 1, 2, 3), (1, 7, 3, 2)),
]
EMPTY = [((0, 4), (4, 5)), ((3, 4), (4, 0)), ((3, 0), (0, 5)), ((0, 0), (0, 0)), ((0, 3, 4), (4, 5)),
         ((2, 3, 0), (0, 5)), ((0,), (0,)), ((0,), (0, 3)), ((2, 0, 3, 4), (4, 5))]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shapes", FITTING + EMPTY, ids=str)
def test_shapes_that_fit(program, random, shapes, order):
    a, b = (np.asarray(random.integers(-9, 10, shape).astype("f8"), order=order) for shape in shapes)
    c = program.multiply(a, b)
    assert c.shape == np.matmul(a, b).shape
    assert np.array_equal(c, np.matmul(a, b))


@pytest.mark.parametrize("shapes", [((3, 4), (5, 6)), ((4,), (5,)), ((3, 4), (5,)), ((4,), (5, 4)),
                                    ((2, 3, 4), (3, 4, 5)), ((2, 2, 3, 4), (3, 4, 5)), ((0, 3, 4), (2, 4, 5))],
                         ids=str)
def test_shapes_that_do_not_fit(program, shapes):
    for name, shape in zip("ab", shapes):
        np.save(program.folder / f"{name}.npy", np.zeros(shape, "f4"))
    with pytest.raises(ValueError):
        np.matmul(*(np.zeros(shape) for shape in shapes))
    program.refuses("multiply", "a.npy", "b.npy", "-o", "c.npy", code=3,
                    says=["a.npy", "b.npy", str(shapes[0]), str(shapes[1]), "expected"])


def test_single_numbers_are_refused(program):
    np.save(program.folder / "a.npy", np.float32(3))
    np.save(program.folder / "b.npy", np.zeros((3, 3), "f4"))
    program.refuses("multiply", "a.npy", "b.npy", "-o", "c.npy", code=3, says=["a.npy", "single number"])


def test_a_vector_has_no_transpose(program):
    np.save(program.folder / "a.npy", np.zeros(3, "f4"))
    np.save(program.folder / "b.npy", np.zeros((3, 3), "f4"))
    program.refuses("multiply", "a.npy", "b.npy", "--transpose-a", "-o", "c.npy", code=3,
                    says=["a.npy", "--transpose-a"])


def test_batches_transposed(program, random):
    a, b = random.standard_normal((3, 1, 5, 4)), random.standard_normal((2, 6, 5))
    c = program.multiply(a, b, "--transpose-a", "--transpose-b")
    assert np.allclose(c, np.matmul(a.swapaxes(-1, -2), b.swapaxes(-1, -2)), rtol=0, atol=1e-13)


def test_batch_with_beta(program, random):
    a, b = (random.integers(-9, 10, shape).astype("f4") for shape in ((4, 1, 3, 5), (2, 5, 6)))
    c0 = np.asfortranarray(random.integers(-9, 10, (4, 2, 3, 6)).astype("f4"))
    np.save(program.folder / "c0.npy", c0)
    c = program.multiply(a, b, "--beta", "2", "--c", "c0.npy")
    assert np.array_equal(c, a @ b + 2 * c0)


def test_mismatched_start_value(program):
    for name, shape, dtype in (("a", (3, 4), "f4"), ("b", (4, 5), "f4"), ("wide", (3, 5), "f8"), ("thin", (5, 3), "f4")):
        np.save(program.folder / f"{name}.npy", np.zeros(shape, dtype))
    call = ["multiply", "a.npy", "b.npy", "-o", "c.npy", "--beta", "1"]
    program.refuses(*call, "--c", "wide.npy", code=3, says=["wide.npy", "f64", "expected f32"])
    program.refuses(*call, "--c", "thin.npy", code=3, says=["thin.npy", "(5, 3)", "(3, 5)"])
    program.refuses(*call, code=2, says=["--beta 1", "--c"])


def test_mixed_types_are_refused(program):
    np.save(program.folder / "a.npy", np.zeros((3, 3), "f4"))
    np.save(program.folder / "b.npy", np.zeros((3, 3), "f8"))
    program.refuses("multiply", "a.npy", "b.npy", "-o", "c.npy", code=3, says=["a.npy", "f32", "b.npy", "f64"])
