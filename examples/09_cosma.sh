#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# COSMA (github.com/eth-cscs/COSMA) over this library on several nodes. NOT TESTED: written from COSMA's instructions.
#
#     09_cosma.sh COSMA_CHECKOUT EXACTILE_PREFIX HOSTFILE RANKS [cpu|gpu]
#
# COSMA cuts C, A and B among ranks and leaves each rank's products to BLAS: to ?gemm of whatever libblas.so.3 the
# loader finds first, or, built for CUDA, to cublas?gemm through its Tiled-MM. Both are called by name from a shared
# library, so it is enough that ours comes first on every node; nothing in COSMA changes.
set -euo pipefail
readonly cosma=$1 prefix=$2 hosts=$3 ranks=$4 where=${5:-cpu}
readonly build=$cosma/build-$where

# CUSTOM: CMake's own FindBLAS, which takes the system's libblas.so. At run time another provider of it may stand there.
blas=CUSTOM
[[ $where == cpu ]] || blas=CUDA
cmake -S "$cosma" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCOSMA_BLAS=$blas -DCOSMA_SCALAPACK=OFF
cmake --build "$build" -j

if [[ $where == cpu ]]; then
  settings=(-x "LD_PRELOAD=$prefix/lib/libexactile_blas.so")
else # f32 and complex f32; products of f64 stay cuBLAS's
  settings=(-x "LD_PRELOAD=$prefix/lib/libexactile_cublas.so")
fi
# A rank's threads: as many as it may use processors, to which Open MPI binds it. With EXACTILE_VERBOSE=1 each product
# says on stderr which kernel did it: the first run's proof that it was ours.
mpirun --hostfile "$hosts" -n "$ranks" --map-by socket --bind-to socket -x EXACTILE_VERBOSE=1 "${settings[@]}" \
  "$build/miniapp/cosma_miniapp" -m 1000 -n 1000 -k 1000 -r 1 --type=float
mpirun --hostfile "$hosts" -n "$ranks" --map-by socket --bind-to socket "${settings[@]}" \
  "$build/miniapp/cosma_miniapp" -m 40000 -n 40000 -k 40000 -r 3 --type=float
