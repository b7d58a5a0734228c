// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the library and libexactile_cuda.so say to each other. The module exports one function of type ModuleFunction
/// and exchanges C++ objects with the library, which only objects of one build may do: ids are compared first.
#pragma once

#include "core/team.hpp"

namespace exactile::plan {
struct BackendEntry;
struct Offload;
}  // namespace exactile::plan

namespace exactile::cuda_module {

/// Version, compiler, a hash of the shared headers, and what decides the standard library's types.
extern const char* const build_id;

inline constexpr const char* file_name = "libexactile_cuda.so";
inline constexpr const char* function_name = "exactile_cuda_module";

/// The first two fields stay what they are for ever: they are all that different builds read of each other.
struct Handshake {
  const char* build_of_library = nullptr;
  const char* module_build_id = nullptr;  ///< set by the module
  /// The library's threads, on which the module's teams run; valid as long as the process lives.
  core::RunTeam* run_team = nullptr;
  const plan::BackendEntry* backend = nullptr;  ///< set by the module; stays null where the ids differ
  const plan::Offload* offload = nullptr;       ///< the same
};

using ModuleFunction = void(Handshake*);

}  // namespace exactile::cuda_module
