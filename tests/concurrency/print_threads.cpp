// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "exactile/devices.hpp"

int main() { std::printf("%d\n", exactile::default_threads()); }
