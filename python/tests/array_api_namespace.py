# SPDX-License-Identifier: Apache-2.0
"""NumPy's array namespace with this library's products, for array-api-tests."""
from types import ModuleType

import numpy

import exactile


def _with_our_product(module):
    ours = ModuleType(module.__name__)
    ours.__dict__.update({name: getattr(module, name) for name in dir(module)})
    ours.matmul = lambda x1, x2, /: exactile.matmul(x1, x2)
    return ours


xp = _with_our_product(numpy)
xp.linalg = _with_our_product(numpy.linalg)
