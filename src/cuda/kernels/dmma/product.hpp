// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the f64 tensor-core kernels share on the host: which tile, how K is split, which way round.
#pragma once

#include <span>
#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/kernels/dmma/parameters.cuh"

namespace exactile::cuda::dmma {

/// A tile that a kernel is compiled for.
struct TileKind {
  int bm;
  int bn;
  int stages;
  int ctas;            ///< on an SM at a time
  int most_cluster_k;  ///< CTAs of a cluster that share K
  using Launch = Status(const Parameters&, const Device&, std::string_view kernel, cudaStream_t);
  Launch* launch;
  Launch* launch_along_k;  ///< where A lies by pairs along K, if TMA reaches it (else unsupported); or null
};

/// A product divided into work tiles.
struct Tiling {
  GemmDescription description;  ///< of the product, or of the transposed one
  bool transposed = false;
  const TileKind* tile = nullptr;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  std::int64_t k_of_chunk = 0;
  std::int64_t chunks = 0;
  std::int64_t split_k = 0;
  int cluster_k = 0;  ///< where slices are a chunk each, of the CTAs of a cluster: how many there may be; 1: K whole
};

/// A product divided as a configuration says; its chunks are so long where CTAs of a cluster do not share K.
[[nodiscard]] Tiling tiling_of(const GemmDescription& description, std::span<const TileKind> kinds,
                               const Configuration& configuration, std::int64_t k_of_chunk = chunk_k);
/// The same where K is not split; but K is one chunk unless bits are to follow from K alone.
[[nodiscard]] Configuration in_one_chunk(const plan::Problem& problem, Configuration configuration);
/// How long chunks of a configuration with Slices::free are.
[[nodiscard]] std::int64_t k_of_slice(const plan::Problem& problem, const Configuration& configuration);

/// What slices of K that meet in memory are: chunks of 1024, or, unless bits are to follow from K alone, one of any
/// length each.
enum class Slices : std::uint8_t { of_chunks, free };

/// All tiles, ways round and splits of K; of these, in clusters where tiles leave SMs idle and bits may follow from it.
[[nodiscard]] std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device,
                                                std::span<const TileKind> kinds, Slices slices = Slices::of_chunks);
[[nodiscard]] std::string_view why_refused(const GemmDescription& description);

class DmmaProduct final : public DeviceProduct {
 public:
  DmmaProduct(const Tiling& tiling_of, const Device& device, std::string_view kernel)
      : tiling_(tiling_of), device_(device), kernel_(kernel) {}

  [[nodiscard]] Status launch(const Launch& launch) const override;
  [[nodiscard]] std::string blocking() const override;
  [[nodiscard]] std::int64_t workspace_bytes() const override;
  [[nodiscard]] double model_bytes() const override;

 private:
  [[nodiscard]] Parameters parameters(const Launch& launch) const;

  Tiling tiling_;
  Device device_;
  std::string_view kernel_;
};

}  // namespace exactile::cuda::dmma
