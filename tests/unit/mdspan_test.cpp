// SPDX-License-Identifier: Apache-2.0
// Classes that look like std::mdspan as operands: a small one stands in, because C++20 has none.
#include "exactile/interop/mdspan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "exactile/gemm.hpp"

namespace exactile {
namespace {

template <class T, std::size_t Rank>
struct Strided {
  using element_type = T;
  using reference = T&;
  T* data;
  std::array<int, Rank> extents;
  std::array<int, Rank> strides;
  static constexpr std::size_t rank() { return Rank; }
  [[nodiscard]] T* data_handle() const { return data; }
  [[nodiscard]] int extent(std::size_t i) const { return extents[i]; }
  [[nodiscard]] int stride(std::size_t i) const { return strides[i]; }
};

/// As std::linalg::scaled() makes one: its elements are computed.
struct Scaled : Strided<float, 2> {
  using reference = float;
};
static_assert(interop::StridedView<Strided<const float, 2>> && !interop::StridedView<Scaled>);

TEST(Mdspan, MatricesOfAnyStrides) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  std::vector<float> c(4);
  const Strided<const float, 2> rows{a.data(), {2, 3}, {3, 1}};
  const Strided<const float, 2> columns{a.data(), {3, 2}, {1, 3}};
  ASSERT_TRUE(
      gemm(interop::view(rows), interop::view(columns), interop::view(Strided<float, 2>{c.data(), {2, 2}, {1, 2}}))
          .ok());
  EXPECT_EQ(c, (std::vector<float>{14, 32, 32, 77}));
}

TEST(Mdspan, BatchesAreCountedByTheirFirstIndex) {
  const std::vector<float> a{1, 2, 3, 4};
  std::vector<float> c(2);
  const Strided<const float, 3> rows{a.data(), {2, 1, 2}, {2, 2, 1}};
  const Strided<const float, 3> columns{a.data(), {2, 2, 1}, {2, 1, 2}};
  ASSERT_TRUE(gemm(interop::view(rows), interop::view(columns),
                   interop::view(Strided<float, 3>{c.data(), {2, 1, 1}, {1, 1, 1}}))
                  .ok());
  EXPECT_EQ(c, (std::vector<float>{5, 25}));
}

}  // namespace
}  // namespace exactile
