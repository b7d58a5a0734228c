// SPDX-License-Identifier: Apache-2.0
/// \file The .cl files of kernels/, embedded by CMake.
#pragma once

#include <string_view>

namespace exactile::opencl {

extern const std::string_view element_cl;  ///< stands before every other one
extern const std::string_view blocked_cl;
extern const std::string_view certified_cl;  ///< stands before certified_round_cl and certified_settle_cl
extern const std::string_view certified_lines_cl;
extern const std::string_view certified_round_cl;
extern const std::string_view certified_settle_cl;
extern const std::string_view pack_cl;
extern const std::string_view packed_cl;
extern const std::string_view peak_cl;
extern const std::string_view reduce_cl;
extern const std::string_view tiled_cl;
extern const std::string_view vectors_cl;

}  // namespace exactile::opencl
