#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# isa_leak_test.sh NM ARCHIVE: fails if an object that is compiled for one instruction set (avx2_*, avx512_*) defines a
# function that the linker may share with the rest of the library. The linker keeps one copy of an inline function; were
# it this one, the library would die with an illegal instruction on processors without that instruction set. Functions in
# the instruction set's own namespace (N_AVX...) have no other copy.
set -eu
"$1" -C --defined-only "$2" | awk '
  /^[^ ]+:$/ { member = $1; special = member ~ /^avx/; members += special; next }
  special && $2 == "W" && !/::N_AVX/ { print member, $0; leaks++ }
  END {
    printf "%d objects for one instruction set, %d functions leak out of them\n", members, leaks
    exit leaks > 0
  }'
