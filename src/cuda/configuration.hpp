// SPDX-License-Identifier: Apache-2.0
/// \file
/// One way in which a kernel family computes a product, as data: tile, cluster, how K is split.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exactile::cuda {

/// The sizes that distinguish a family's configurations. A family has some of them; the others are 0.
struct Configuration {
  int bm = 0;         ///< rows of C that a CTA computes at a time
  int bn = 0;         ///< columns
  int cluster_m = 0;  ///< CTAs of a cluster that share columns of B
  int cluster_n = 0;  ///< CTAs of a cluster that share rows of A
  int cluster_k = 0;  ///< CTAs of a cluster that compute one tile, each a slice of K
  int slice_k = 0;    ///< bytes of K in a slice whose sums meet in memory
  int split_k = 0;    ///< slices of K, their sums added in a fixed order
  int ctas = 0;       ///< CTAs on an SM at a time
  int warps = 0;
  int stages = 0;
  int pack = 0;  ///< 1: an operand that cannot be read by vectors is packed first
  int swap = 0;  ///< 1: C^T = B^T A^T is computed
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// Names and values of the sizes that are not 0.
[[nodiscard]] std::vector<std::pair<std::string_view, int>> sizes_of(const Configuration& configuration);
/// "BM=128 BN=256 CLUSTER_M=2": the sizes that are not 0.
[[nodiscard]] std::string to_string(const Configuration& configuration);

/// All sizes, also those that are 0: a pin that no other configuration matches.
[[nodiscard]] std::string exact_pin(const Configuration& configuration);

/// A wish for a configuration: those sizes that are named must be equal, the others are free.
class Pin {
 public:
  /// Reads "BM=128 BN=256"; nothing where a name is unknown, named twice, or a value no number of at least 0.
  [[nodiscard]] static std::optional<Pin> parse(std::string_view text);
  [[nodiscard]] bool matches(const Configuration& configuration) const;
  /// The sizes that are named, 0 for the others.
  [[nodiscard]] const Configuration& configuration() const { return wanted_; }

 private:
  Configuration wanted_;
  unsigned named_ = 0;  ///< one bit a field
};

}  // namespace exactile::cuda
