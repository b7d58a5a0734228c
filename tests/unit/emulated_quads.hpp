// SPDX-License-Identifier: Apache-2.0
/// \file VPDPBUSD by other instructions, so that processors without it test how bytes are packed and corrected for it.
#pragma once

#include "cpu/micro/tile.hpp"

namespace exactile::cpu {

struct EmulatedQuads {};
template <>
struct Elements<EmulatedQuads> : Elements<I8Quads> {};

namespace test {

/// Needs AVX2.
const MicroKernels<EmulatedQuads>& emulated_quads(ElementType a, ElementType b);

}  // namespace test
}  // namespace exactile::cpu
