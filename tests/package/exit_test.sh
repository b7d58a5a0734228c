#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exit_test.sh NM ARCHIVE: fails if an object registers a destructor that runs when the process or a thread ends. Users
# multiply in atexit handlers and in destructors of their own static and thread-local objects; what the library keeps
# must outlive them: `static auto& x = *new T` is never destroyed.
set -eu
"$1" --undefined-only "$2" | awk '
  /^[^ ]+:$/ { member = $1; members++; next }
  $2 ~ /^__cxa_(thread_)?atexit/ { print member, $2; found++ }
  END {
    printf "%d objects, %d register destructors\n", members, found
    exit found > 0 || members == 0
  }'
