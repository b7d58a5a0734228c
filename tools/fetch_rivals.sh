#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collects the libraries that `exactile bench --suite FILE` times exactile against, and prints its --rivals arguments.
#
#   tools/fetch_rivals.sh DIR        fetches what DIR lacks (about 2 GB), then prints the arguments
#
# From Python wheels: the newest OpenBLAS, MKL and oneDNN (python3 with pip, unzip). From Debian, where installed:
# libopenblas0-pthread, libdnnl2, libblis4-openmp, libxsmm-dev. What cannot be had is left out, with a note.
set -euo pipefail

usage() { echo "usage: tools/fetch_rivals.sh DIR" >&2; exit 2; }
note() { echo "fetch-rivals: $*" >&2; }

[[ $# -eq 1 && $1 != -* ]] || usage
mkdir -p "$1"
directory=$(cd "$1" && pwd)
arguments=()

# collect NAME LIBRARY WHEEL...: puts the shared libraries of the wheels into one folder, where LIBRARY must then be.
collect() {
  local name=$1 library=$2 scratch
  shift 2
  [[ ! -e $directory/$name/$library ]] || return 0
  scratch=$(mktemp -d "$directory/fetch.XXXXXX")
  if python3 -m pip download --quiet --no-deps --dest "$scratch" "$@" >&2; then
    mkdir -p "$directory/$name"
    local wheel
    for wheel in "$scratch"/*.whl; do
      unzip -qoj "$wheel" '*.so*' -d "$directory/$name" >&2 || note "$(basename "$wheel") holds no library"
    done
  fi
  rm -rf "$scratch"
  [[ -e $directory/$name/$library ]]
}

offer() {
  local name=$1 path=$2 settings=${3:-}
  arguments+=("--rivals" "$name=$path$settings")
}

openblas_newest() {
  local library=libscipy_openblas.so
  collect openblas "$library" scipy-openblas32 || { note "no wheel of OpenBLAS"; return; }
  offer openblas-newest "$directory/openblas/$library"
  # OpenBLAS takes an AVX2 kernel on processors it does not know. A second copy of the file, because one file is loaded
  # only once, is told to use AVX-512.
  grep -qw avx512f /proc/cpuinfo || return 0
  mkdir -p "$directory/openblas-avx512"
  cp -u "$directory/openblas/$library" "$directory/openblas-avx512/"
  offer openblas-avx512 "$directory/openblas-avx512/$library" ,OPENBLAS_CORETYPE=SkylakeX
}

mkl_newest() {
  collect mkl libmkl_core.so.3 mkl || collect mkl libmkl_core.so.2 mkl || { note "no wheel of MKL"; return; }
  offer mkl "$(find "$directory/mkl" -name 'libmkl_rt.so.*' | sort -V | tail -n 1)"
}

onednn_newest() {
  collect onednn libdnnl.so.3 onednn intel-sycl-rt intel-cmplr-lib-rt intel-cmplr-lib-ur umf tbb tcmlib || { note "no wheel of oneDNN 3"; return; }
  # The wheel expects its companions on the loader's path. A library that names them and says where they lie spares
  # the caller from setting it.
  local door=$directory/onednn/onednn.so
  [[ -e $door ]] || cc -shared -x c /dev/null -o "$door" "-Wl,-rpath,$directory/onednn" -Wl,--disable-new-dtags \
    -Wl,--no-as-needed -Wl,--unresolved-symbols=ignore-all -L"$directory/onednn" -l:libdnnl.so.3 >&2
  offer onednn-newest "$door"
}

# The last wheels built without SYCL, whose matmul primitive therefore runs without an OpenCL driver.
onednn_matmul() {
  collect onednn-gomp libdnnl.so.3 onednn-cpu-gomp || { note "no wheel of oneDNN with OpenMP"; return; }
  offer onednn_matmul "$directory/onednn-gomp/libdnnl.so.3"
}

# Debian has libxsmm as an archive only.
libxsmm_debian() {
  local archive=/usr/lib/libxsmm.a library=$directory/libxsmm/libxsmm.so
  [[ -e $archive ]] || { note "libxsmm-dev is not installed"; return; }
  mkdir -p "$directory/libxsmm"
  [[ -e $library ]] || cc -shared -o "$library" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    /usr/lib/libxsmmnoblas.a -lpthread -ldl -lrt -lm >&2
  offer libxsmm "$library"
}

# debian NAME PACKAGE FILE: a library where its package puts it.
debian() {
  local path
  path=$(dpkg -L "$2" 2>/dev/null | grep -m 1 "/$3\$") || { note "$2 is not installed"; return 0; }
  offer "$1" "$path"
}

debian openblas-debian libopenblas0-pthread libopenblas.so.0
openblas_newest
mkl_newest
debian onednn-debian libdnnl2 libdnnl.so.2
onednn_newest
onednn_matmul
debian blis libblis4-openmp libblis.so.4
libxsmm_debian

echo "${arguments[*]}"
