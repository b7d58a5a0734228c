#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The two halves of `./dev run` that are not exactile: makes two matrices, and checks their product with NumPy.

    demo.py make FOLDER      writes a.npy (1000 x 800) and b.npy (800 x 1200), N(0, 1), f32, always the same
    demo.py compare FOLDER   compares c.npy with NumPy's product of a.npy and b.npy; exit status 1 if they disagree
"""

import pathlib
import sys

import numpy as np

M, K, N = 1000, 800, 1200


def make(folder: pathlib.Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed=20240607)
    np.save(folder / "a.npy", random.standard_normal((M, K), dtype=np.float32))
    np.save(folder / "b.npy", random.standard_normal((K, N), dtype=np.float32))
    return 0


def compare(folder: pathlib.Path) -> int:
    a, b, c = (np.load(folder / name) for name in ("a.npy", "b.npy", "c.npy"))
    product = a @ b
    if c.shape != product.shape or c.dtype != product.dtype:
        print(f"NumPy disagrees: c.npy is {c.dtype} {c.shape}, a @ b is {product.dtype} {product.shape}")
        return 1
    # Two results that each keep |C^ - C| <= gamma_K |A||B| differ by at most twice that.
    ku = a.shape[1] * 2.0**-24
    allowed = 2 * ku / (1 - ku) * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    difference = np.abs(c.astype(np.float64) - product.astype(np.float64))
    agree = bool(np.all(difference <= allowed))  # a NaN compares false
    print(f"NumPy {'agrees' if agree else 'disagrees'}: c.npy and a @ b differ by at most {difference.max():.2g} "
          f"in elements of up to {np.abs(product).max():.0f} (up to {allowed.min():.2g} is rounding)")
    return 0 if agree else 1


def main() -> int:
    commands = {"make": make, "compare": compare}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    return commands[sys.argv[1]](pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
