// SPDX-License-Identifier: Apache-2.0
// `sm90_f64_by_complex_mma`: the kernel of sm90_f64_mma times a B of complex numbers, which become real ones in
// registers, or for large tiles on their way to shared memory. See docs/design/complex.md.
#include <algorithm>
#include <array>
#include <memory>

#include "cuda/kernels/dmma/sm90_kernel.cuh"
#include "cuda/kernels/kernels.hpp"

namespace exactile::cuda {
namespace {

using namespace dmma;

/// Where A is not expanded half of what it takes of a stage is free for more of them.
constexpr auto complex = FormOfA::complex;
constexpr std::array complex_kinds{
    kind<Tile<128, 128, 64, 32, 16, 1, 6, 1, FormOfA::expanded, Instruction::m16n8k16>>(),
    kind<Tile<128, 64, 32, 32, 8, 1, 12, 1, complex>>(),
    kind<Tile<128, 80, 32, 40, 8, 1, 11, 1, complex>>(),
    kind<Tile<64, 64, 32, 16, 8, 1, 12, 1, complex>>(),
    kind<Tile<32, 64, 16, 16, 16, 2, 5, 1, complex>>(),
    kind<Tile<16, 64, 16, 16, 16, 2, 6, 2, complex>>(),
    kind<Tile<16, 32, 16, 8, 16, 2, 6, 3, complex>>()};

constexpr std::array f64_types{GemmTypes{ElementType::f64, ElementType::f64}};

/// C^T = B^T A^T: of A in a stage B^T becomes, as it lies.
std::vector<Candidate> complex_candidates(const plan::Problem& p, const Device& device) {
  std::vector<Candidate> all = candidates(p, device, complex_kinds);
  std::erase_if(all, [](const Candidate& c) { return c.configuration.swap == 0; });
  return all;
}

}  // namespace

const Kernel sm90_f64_by_complex_mma{
    .name = "sm90_f64_by_complex_mma",
    .role = "engine",
    .summary = "FP64 tensor cores, times a B of complex numbers as real matrices of 2 x 2",
    .types = f64_types,
    .least_capability = 90,
    .most_capability = 90,
    .refuses = [](const plan::Problem& p, const Device&) { return why_refused(p.description); },
    .candidates = complex_candidates,
    .make = [](const plan::Problem& p, const Device& device, const Configuration& c) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<DmmaProduct>(tiling_of(p.description, complex_kinds, in_one_chunk(p, c)), device,
                                           "complex_f64_mma");
    }};

}  // namespace exactile::cuda
