#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pkg_config_test.sh COMPILER PC_FOLDER SOURCE PROGRAM: builds SOURCE with what pkg-config says, and runs it.
set -eu
export PKG_CONFIG_PATH="$2"
pkg-config --exists --print-errors 'exactile >= 0.1'
# shellcheck disable=SC2046 # one word a flag
"$1" -std=c++20 "$3" -o "$4" $(pkg-config --cflags --libs exactile)
"$4"
