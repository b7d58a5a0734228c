# SPDX-License-Identifier: Apache-2.0
"""grouped_matmul(): the bits of matmul() of each group, rows in no group untouched, and what is refused."""
import numpy as np
import pytest
from support import FLOATS, INTEGERS, operand

import exactile

OFFSETS = [2, 2, 5, 30, 30, 47]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_each_group_is_a_product(dtype, transposed):
    random = np.random.default_rng(1)
    a, b = operand(random, (50, 33), dtype), operand(random, (5, 21, 33) if transposed else (5, 33, 21), dtype)
    if transposed:
        b = b.swapaxes(1, 2)
    out = operand(random, (50, 21), dtype)
    before = out.copy()
    assert exactile.grouped_matmul(a, b, OFFSETS, out=out) is out
    expected = before
    for g, (i, j) in enumerate(zip(OFFSETS, OFFSETS[1:])):
        if i < j:
            expected[i:j] = exactile.matmul(a[i:j], b[g])
    np.testing.assert_array_equal(out, expected)


def test_without_out_and_with_beta():
    random = np.random.default_rng(2)
    a, b = random.standard_normal((40, 8)), random.standard_normal((2, 8, 6))
    c = exactile.grouped_matmul(a, b, np.array([0, 15, 40], np.int32))
    np.testing.assert_allclose(c, np.concatenate([a[:15] @ b[0], a[15:] @ b[1]]))
    twice = exactile.grouped_matmul(a, b, [0, 15, 40], out=c.copy(), alpha=2, beta=-1)
    np.testing.assert_allclose(twice, c)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scales_of_rows_and_of_columns(dtype):
    random = np.random.default_rng(3)
    a, b = operand(random, (40, 8), dtype), operand(random, (2, 8, 6), dtype)
    rows, columns = random.uniform(1, 2, 40), random.uniform(1, 2, (2, 6))
    c = exactile.grouped_matmul(a, b, [0, 15, 40], row_scales=rows, column_scales=columns)
    np.testing.assert_array_equal(
        c[:15], exactile.matmul(a[:15], b[0], row_scales=rows[:15], column_scales=columns[0]))
    np.testing.assert_array_equal(
        c[15:], exactile.matmul(a[15:], b[1], row_scales=rows[15:], column_scales=columns[1]))
    with pytest.raises(ValueError, match=r"column_scales has shape \(6,\): expected \(2, 6\)"):
        exactile.grouped_matmul(a, b, [0, 15, 40], column_scales=columns[0])


def test_refusals():
    a, b = np.ones((10, 4)), np.ones((2, 4, 3))
    for offsets in ([0, 6, 11], [0, 6, 5], [-1, 5, 10]):
        with pytest.raises(ValueError, match="offsets"):
            exactile.grouped_matmul(a, b, offsets)
    with pytest.raises(ValueError, match=r"offsets has shape \(2,\): expected \(3,\)"):
        exactile.grouped_matmul(a, b, [0, 10])
    with pytest.raises(ValueError, match="expected .rows, k."):
        exactile.grouped_matmul(a, b[0], [0, 10])
    with pytest.raises(ValueError, match="b has shape"):
        exactile.grouped_matmul(a, np.ones((2, 5, 3)), [0, 5, 10])
    with pytest.raises(ValueError, match="beta"):
        exactile.grouped_matmul(a, b, [0, 5, 10], beta=1)


def test_torch_on_a_gpu():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no device of compute capability 9.0")
    a = torch.randn(500, 128, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(3, 264, 128, dtype=torch.bfloat16, device="cuda").mT
    ends = torch.tensor([0, 200, 200, 500], device="cuda")
    c = exactile.grouped_matmul(a, b, ends)
    assert torch.equal(c[:200], exactile.matmul(a[:200], b[0], reproducible=True))
    assert torch.equal(c[200:], exactile.matmul(a[200:], b[2], reproducible=True))
