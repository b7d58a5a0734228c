# SPDX-License-Identifier: Apache-2.0
"""threadpoolctl's controllers, registered by `import exactile.threadpool`.

`threadpoolctl.threadpool_limits(1, user_api="blas")`, as scikit-learn and joblib call it, then limits matmul() too, and
what libexactile_blas.so does for NumPy.
"""
import ctypes
from typing import Any

import threadpoolctl

from . import _exactile


class ExactileController(threadpoolctl.LibController):
    """The package: its limit is that of set_threads()."""

    user_api = "blas"
    internal_api = "exactile"
    filename_prefixes = ("_exactile",)

    def get_num_threads(self) -> int:
        return _exactile.get_threads()

    def set_num_threads(self, num_threads: int) -> None:
        _exactile.set_threads(num_threads)

    def get_version(self) -> str:
        return _exactile.version

    def set_additional_attributes(self) -> None:
        pass


class BlasController(threadpoolctl.LibController):
    """libexactile_blas.so, where NumPy or another program has its products from it."""

    user_api = "blas"
    internal_api = "exactile_blas"
    filename_prefixes = ("libexactile_blas",)
    check_symbols = ("exactile_blas_version",)

    def get_num_threads(self) -> int:
        return int(self.dynlib.openblas_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.openblas_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> Any:
        version = self.dynlib.exactile_blas_version
        version.restype = ctypes.c_char_p
        return version().decode()

    def set_additional_attributes(self) -> None:
        pass


for _controller in (ExactileController, BlasController):
    threadpoolctl.register(_controller)
