# SPDX-License-Identifier: Apache-2.0
"""Plan, prepare() and explain()."""
import json
import threading

import ml_dtypes
import numpy as np
import pytest
from support import check, operand

import exactile


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex128, ml_dtypes.bfloat16], ids=str)
def test_plan_leaves_the_bits_of_matmul(random, dtype):
    a, b = operand(random, (33, 70), dtype), operand(random, (70, 41), dtype)
    plan = exactile.Plan(a, b)
    assert plan(a, b).tobytes() == exactile.matmul(a, b).tobytes()
    out = np.empty((33, 41), dtype)
    assert plan(a, b, out=out) is out
    check(a, b, out)
    if np.dtype(dtype).kind == "f":
        before = out.copy()
        plan(a, b, out=out, alpha=2, beta=1)
        np.testing.assert_allclose(out, 3 * before, rtol=1e-5)


def test_plan_refuses_what_it_was_not_made_for(random):
    a, b = operand(random, (5, 6), np.float32), operand(random, (6, 7), np.float32)
    plan = exactile.Plan(a, b)
    for x, y in ((a[:4], b), (np.asfortranarray(a), b), (a, b[:, :6])):
        with pytest.raises(ValueError, match="expected"):
            plan(x, y)
    with pytest.raises(ValueError, match="beta is given without out"):
        plan(a, b, beta=1)
    with pytest.raises(ValueError, match="share"):
        plan(np.ones((6, 6), np.float32)[:5], b, out=b[:5])
    with pytest.raises(ValueError, match="one stride"):
        exactile.Plan(np.ones((2, 1, 3, 3, 4)), np.ones((1, 5, 1, 4, 6)))


def test_plan_of_a_stack_and_of_small_integers(random):
    a, b = operand(random, (4, 5, 6), np.float64), operand(random, (6, 7), np.float64)
    check(a, b, exactile.Plan(a, b)(a, b))
    a, b = operand(random, (5, 6), np.int8), operand(random, (6, 7), np.int8)
    check(a.astype(np.int32), b.astype(np.int32), exactile.Plan(a, b)(a, b))


def test_prepared_bytes_meet_bytes_of_the_other_sign(random):
    a, b = operand(random, (5, 600), np.uint8), operand(random, (600, 7), np.int8)
    prepared = exactile.Plan(a, b, dtype=np.int32).prepare("b", b)
    check(a.astype(np.int32), b.astype(np.int32), a @ prepared)


def test_plan_of_a_named_kernel(random):
    a, b = operand(random, (5, 6), np.float32), operand(random, (6, 7), np.float32)
    plan = exactile.Plan(a, b, kernel="cpu_naive")
    assert "cpu_naive" in repr(plan)
    check(a, b, plan(a, b))
    with pytest.raises(ValueError, match="abacus"):
        exactile.Plan(a, b, kernel="abacus")


def test_a_plan_is_called_from_many_threads(random):
    a, b = operand(random, (60, 70), np.float32), operand(random, (70, 50), np.float32)
    plan = exactile.Plan(a, b)
    expected = plan(a, b)
    results = []
    threads = [threading.Thread(target=lambda: results.append(plan(a, b).tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected.tobytes()] * 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, ml_dtypes.bfloat16], ids=str)
def test_prepared_weights(random, dtype):
    weights = operand(random, (70, 90), dtype)
    prepared = exactile.prepare(weights, rows=64)
    assert prepared.shape == (70, 90) and prepared.nbytes >= 0
    for shape in ((64, 70), (1, 70), (2, 3, 70), (70,)):
        x = operand(random, shape, dtype)
        check(x, weights, x @ prepared)
    with pytest.raises(ValueError, match="expected the last axis of a, 71"):
        operand(random, (4, 71), dtype) @ prepared


def test_prepared_a_of_a_plan(random):
    a, b = operand(random, (300, 70), np.float32), operand(random, (70, 90), np.float32)
    plan = exactile.Plan(a, b)
    assert plan(plan.prepare("a", a), b).tobytes() == plan(a, b).tobytes()
    with pytest.raises(ValueError, match="operand = 'c'"):
        plan.prepare("c", a)


def test_explanation(random):
    explanation = exactile.explain(np.ones((35, 40), np.float32), np.ones((40, 50), np.float32))
    assert explanation.data["m"] == 35
    json.dumps(explanation.data)
    chosen = [c["kernel"] for c in explanation.data["candidates"] if c["chosen"]]
    assert chosen == [explanation.data["kernel"]] and chosen[0] in repr(explanation)
    html = explanation._repr_html_()
    assert html.startswith("<table>") and html.endswith("</table>") and chosen[0] in html
    assert all(f">{c['kernel']}<" in html for c in explanation.data["candidates"])
