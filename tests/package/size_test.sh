#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# size_test.sh STRIP LIBRARY...: fails if a library that programs load has more than 8 MiB without its symbols.
set -eu
strip=$1
shift
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
is_large=0
for library; do
  "$strip" -o "$stripped" "$library"
  bytes=$(wc -c <"$stripped")
  echo "$library: $bytes bytes"
  [ "$bytes" -le 8388608 ] || is_large=1
done
exit $is_large
