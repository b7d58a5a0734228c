# SPDX-License-Identifier: Apache-2.0
"""A matrix product over the ranks of an MPI program, each with a block of A, B and C (SUMMA on a square grid).

    mpirun -n 4 python3 examples/08_four_ranks.py [n]

NumPy multiplies the blocks by whatever BLAS it finds. LD_PRELOAD=libexactile_blas.so makes it exactile; a program in C or
Fortran over ScaLAPACK is served the same way.
"""
import math
import sys

import numpy as np
from mpi4py import MPI


def blocks_of(n, side, row, column):
    """This rank's block of A and B, which every rank could make whole: small whole numbers, so C is exact."""
    b = n // side
    i, j = np.ogrid[row * b:(row + 1) * b, column * b:(column + 1) * b]
    return (3 * i + j) % 7 - 3.0, (i - 2 * j) % 5 - 2.0


def multiply(world, n):
    side = math.isqrt(world.size)
    if side * side != world.size or n % side:
        raise SystemExit(f"needs a square number of ranks and n a multiple of its root: {world.size} ranks, n = {n}")
    row, column = divmod(world.rank, side)
    along, down = world.Split(row, column), world.Split(column, row)
    a, b = blocks_of(n, side, row, column)
    c = np.zeros_like(a)
    for step in range(side):
        of_a = a.copy() if column == step else np.empty_like(a)
        of_b = b.copy() if row == step else np.empty_like(b)
        along.Bcast(of_a, root=step)
        down.Bcast(of_b, root=step)
        c += of_a @ of_b
    return c, row, column, side


def main():
    world, n = MPI.COMM_WORLD, int(sys.argv[1]) if len(sys.argv) > 1 else 512
    c, row, column, side = multiply(world, n)
    a, b = blocks_of(n, 1, 0, 0)
    size = n // side
    block = a[row * size:(row + 1) * size].astype(int) @ b[:, column * size:(column + 1) * size].astype(int)
    wrong = world.allreduce(int((c != block).sum()))
    if world.rank == 0:
        print(f"{n} x {n} over {world.size} ranks: {wrong} elements differ from the exact product")
    sys.exit(1 if wrong else 0)


main()
