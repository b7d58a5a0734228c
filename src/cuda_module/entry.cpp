// SPDX-License-Identifier: Apache-2.0
// The one function of libexactile_cuda.so.
#include <string_view>

#include "cuda/backend.hpp"
#include "cuda_module/handshake.hpp"

extern "C" __attribute__((visibility("default"))) void exactile_cuda_module(
    exactile::cuda_module::Handshake* handshake) {
  using namespace exactile;
  handshake->module_build_id = cuda_module::build_id;
  if (std::string_view(handshake->build_of_library) != cuda_module::build_id) return;
  core::use_team_of(handshake->run_team);
  handshake->backend = &cuda::backend();
  handshake->offload = &cuda::offload();
}
