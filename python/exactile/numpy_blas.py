# SPDX-License-Identifier: Apache-2.0
"""NumPy's own products by exactile: `python -m exactile.numpy_blas SCRIPT [ARGUMENTS]`, or `-m MODULE [ARGUMENTS]`.

NumPy is bound to its BLAS when it is loaded, so what replaces it must be in the process before: the script runs in this
process after it was started anew with LD_PRELOAD. numpy.dot, numpy.matmul, `@`, einsum and numpy.linalg then take the
products of float64 and float32 (and of the complex types what the library has) from libexactile_blas.so, the rest from
NumPy's BLAS as before. EXACTILE_VERBOSE=1 prints each call.
"""
import os
import sys
from pathlib import Path


def library() -> str:
    """The path of libexactile_blas.so, for LD_PRELOAD."""
    return str(Path(__file__).with_name("libexactile_blas.so.0"))


def is_active() -> bool:
    """Whether this process was started with it."""
    return any("libexactile_blas.so" in entry for entry in os.environ.get("LD_PRELOAD", "").replace(":", " ").split())


def main(arguments: list[str]) -> None:
    """Starts Python anew with the arguments; does not return."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if arguments else 2)
    preload = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{library()} {preload}".strip()
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
