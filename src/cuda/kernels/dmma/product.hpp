// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the f64 tensor-core kernels share on the host: which tile, how many pieces of K, which way round.
#pragma once

#include <span>
#include <vector>

#include "cuda/kernel.hpp"
#include "cuda/kernels/dmma/work.cuh"

namespace exactile::cuda::dmma {

/// A tile that a kernel is compiled for.
struct TileKind {
  int bm;
  int bn;
  int stages;
  int ctas;  ///< on an SM at a time
  Status (*launch)(const Work&, const Device&, std::string_view kernel, cudaStream_t);
};

/// A product cut to pieces.
struct Cut {
  GemmDescription description;  ///< of the product, or of the transposed one
  bool transposed = false;
  const TileKind* tile = nullptr;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  std::int64_t chunks = 0;
  std::int64_t pieces = 0;
};

/// A product cut as a configuration says.
[[nodiscard]] Cut cut(const GemmDescription& description, std::span<const TileKind> kinds,
                      const Configuration& configuration);
/// All tiles, ways round and numbers of pieces.
[[nodiscard]] std::vector<Candidate> candidates(const GemmDescription& description, const Device& device,
                                                std::span<const TileKind> kinds);
[[nodiscard]] std::string_view why_refused(const GemmDescription& description);

class DmmaProduct final : public DeviceProduct {
 public:
  DmmaProduct(const Cut& cut, const Device& device, std::string_view kernel)
      : cut_(cut), device_(device), kernel_(kernel) {}

  [[nodiscard]] Status launch(const Launch& launch) const override;
  [[nodiscard]] std::string blocking() const override;
  [[nodiscard]] std::int64_t workspace_bytes() const override;
  [[nodiscard]] double model_bytes() const override;

 private:
  [[nodiscard]] Work work(const Launch& launch) const;

  Cut cut_;
  Device device_;
  std::string_view kernel_;
};

}  // namespace exactile::cuda::dmma
