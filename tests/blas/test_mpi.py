# SPDX-License-Identifier: Apache-2.0
"""Products over four ranks: the example, and ScaLAPACK's testers of products, where MPI is installed."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from support import LIBRARY, PROVIDER, SOURCE, other_blas, run

SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "OMPI_MCA_rmaps_base_oversubscribe": 1,
            "OMPI_MCA_mpi_yield_when_idle": 1, "OMP_NUM_THREADS": 1, "EXACTILE_VERBOSE": 1}
TESTERS = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/PBLAS"


def mpirun():
    command = shutil.which("mpirun.openmpi")
    if command is None:
        pytest.skip("no Open MPI here: openmpi-bin has mpirun")
    return [command, "-n", "4"]


def test_the_example_multiplies_over_four_ranks():
    command = mpirun()
    if subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True, check=False).returncode:
        pytest.skip("no mpi4py here: python3-mpi4py has it")
    done = run([*command, "-x", f"LD_PRELOAD={LIBRARY}", sys.executable, f"{SOURCE}/examples/08_four_ranks.py", "256"],
               EXACTILE_BLAS_FALLBACK=other_blas(), **SETTINGS)
    assert "256 x 256 over 4 ranks: 0 elements differ" in done.stdout
    assert len(re.findall("exactile: DGEMM m=128 n=128 k=128", done.stderr)) == 8  # two a rank


@pytest.mark.parametrize("letter", "dz")
def test_scalapack_multiplies_over_four_ranks(letter, tmp_path, monkeypatch):
    command = mpirun()
    if not os.path.exists(TESTERS):
        pytest.skip("no testers of ScaLAPACK here: scalapack-mpi-test has them")
    monkeypatch.chdir(tmp_path)
    shutil.copy(f"{TESTERS}/P{letter.upper()}BLAS3TST.dat", tmp_path)
    done = run([*command, f"{TESTERS}/{letter}pb3tst"], LD_LIBRARY_PATH=os.path.dirname(PROVIDER),
               EXACTILE_BLAS_FALLBACK=other_blas(), **SETTINGS)
    counts = re.findall(r"\| +P\w+ +(\d+) +(\d+) +(\d+) +(\d+)", done.stdout)
    assert len(counts) >= 8 and all(total == passed != "0" for total, passed, _, _ in counts), done.stdout[-3000:]
    assert f"exactile: {letter.upper()}GEMM" in done.stderr and f"exactile: {letter.upper()}TRSM" in done.stderr
