#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports_test.sh NM MODULE...: fails where a module exports anything but its one function.
set -eu
nm=$1
shift
for module; do
  exported=$("$nm" -D --defined-only --format=posix "$module" | cut -d ' ' -f 1)
  [ "$exported" = exactile_cuda_module ] || { printf '%s exports: %s\n' "$module" "$exported"; exit 1; }
done
