#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh PROGRAM [KERNEL ...]: every CUDA kernel (or those named) under NVIDIA's compute-sanitizer, on small products
# that leave remainders everywhere. Ends with 1 where a tool finds something.
set -uo pipefail

program=${1:?usage: sanitize.sh PROGRAM [KERNEL ...]}
shift
command -v compute-sanitizer >/dev/null || { echo "sanitize.sh: compute-sanitizer is not on PATH" >&2; exit 2; }
kernels=("$@")
if [[ ${#kernels[@]} -eq 0 ]]; then
  mapfile -t kernels < <("$program" kernels --backend cuda | sed -n 's/^\([^ ]*\) (cuda, [a-z]*)$/\1/p')
fi
[[ ${#kernels[@]} -gt 0 ]] || { echo "sanitize.sh: no CUDA kernel is available here" >&2; exit 2; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
findings=0
taken=0 # products of the present kernel
check() { # check TOOL KERNEL M N K [OPTION ...]
  local code=0 beside=() fill=${fill:-normal} accuracy=reduced
  [[ $2 != *_certified ]] || accuracy=correctly_rounded
  # initcheck does not see what TMA stores: to it, the partial sums that combining kernels add were never written; nor
  # what kernels store that it leaves out: the sums to be scaled. cuda_test has workspaces full of NaN instead.
  [[ $1 != initcheck ]] || beside=(--kernel-name-exclude "kns=combine" --kernel-name-exclude "kns=reduce_kernel" --kernel-name-exclude "kns=scaled_kernel")
  compute-sanitizer --tool "$1" "${beside[@]}" --error-exitcode 9 --print-limit 5 "$program" verify --kernel "$2" --accuracy "$accuracy" \
    --fill "$fill" --m "$3" --n "$4" --k "$5" "${@:6}" >"$log" 2>&1 || code=$?
  [[ $code -ne 0 ]] || taken=$((taken + 1))
  if [[ $code -ne 0 && $code -ne 2 ]]; then # 2: the kernel has not got this product
    echo "$1: $2 on $3 x $4 x $5:"
    cat "$log"
    findings=$((findings + 1))
  fi
}

for kernel in "${kernels[@]}"; do
  taken=0
  for tool in memcheck racecheck initcheck synccheck; do
    check "$tool" "$kernel" 33 130 37
    check "$tool" "$kernel" 128 128 128
    check "$tool" "$kernel" 130 66 100 --row-scales --column-scales
    # For those that want few rows or columns, a long K, small products or a single term.
    check "$tool" "$kernel" 9 130 700
    check "$tool" "$kernel" 300 17 61
    check "$tool" "$kernel" 200 5 700
    check "$tool" "$kernel" 3 130 5001
    check "$tool" "$kernel" 20 21 22 --batch 5
    check "$tool" "$kernel" 40 31 1
    # Elements that slices of f32 cannot hold, and those in doubt, are summed in other ways.
    [[ $kernel != *_f32_* && $kernel != *_certified ]] || fill=wide_range check "$tool" "$kernel" 150 140 130
  done
  echo "$kernel: $taken runs"
  if [[ $taken -eq 0 ]]; then
    echo "$kernel: took none of the products"
    findings=$((findings + 1))
  fi
done
echo "sanitize.sh: ${#kernels[@]} kernels, $findings findings"
[[ $findings -eq 0 ]]
