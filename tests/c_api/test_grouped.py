# SPDX-License-Identifier: Apache-2.0
"""Grouped products: the plan, its runs, and what is refused."""
import ctypes

import numpy as np
from interface import ENUMS, described, error, library, make

OK, INVALID, UNSUPPORTED = (ENUMS["EXACTILE_" + name] for name in ("OK", "INVALID_ARGUMENT", "UNSUPPORTED"))


def test_grouped_products():
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-4, 5, shape).astype(np.float64) for shape in ((20, 5), (3, 5, 7), (20, 7)))
    d = described(20, 7, 5, ("F64", "F64"))
    d.batch_count, d.b.batch_stride = 3, 35
    plan = ctypes.c_void_p()
    assert library.exactile_grouped_plan_make(ctypes.byref(d), None, ctypes.byref(plan)) == OK, error()
    offsets, expected = np.array([1, 4, 4, 19]), c.copy()
    x = make("gemm_arguments", a=a.ctypes.data, b=b.ctypes.data, c=c.ctypes.data)
    for g, (i, j) in enumerate(zip(offsets, offsets[1:])):
        expected[i:j] = a[i:j] @ b[g]

    def run():
        return library.exactile_grouped_plan_run(plan, ctypes.byref(x), ctypes.c_void_p(offsets.ctypes.data), None)

    assert run() == OK, error()
    np.testing.assert_array_equal(c, expected)
    offsets[3] = 21
    assert run() == INVALID and "offsets[3] = 21" in error()
    assert library.exactile_grouped_plan_run(plan, ctypes.byref(x), None, None) == INVALID
    assert "offsets = null" in error()
    library.exactile_grouped_plan_destroy(plan)
    d.bias = ENUMS["EXACTILE_BIAS_PER_ROW"]
    assert library.exactile_grouped_plan_make(ctypes.byref(d), None, ctypes.byref(plan)) == UNSUPPORTED
    assert "bias" in error() and plan.value is None
    assert library.exactile_grouped_plan_run(None, ctypes.byref(x), None, None) == INVALID and "plan" in error()
