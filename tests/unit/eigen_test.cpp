// SPDX-License-Identifier: Apache-2.0
// Eigen's matrices as operands.
#include "exactile/interop/eigen.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <complex>
#include <vector>

#include "exactile/gemm.hpp"
#include "exactile/interop/mdspan.hpp"  // both have a view()

namespace exactile {
namespace {

using interop::view;

template <class M>
concept Viewable = requires(M&& m) {
  view(std::forward<M>(m));
};
using Temporary = decltype(std::declval<Eigen::MatrixXf&>() + std::declval<Eigen::MatrixXf&>());
static_assert(Viewable<Eigen::MatrixXf&> && Viewable<const Eigen::MatrixXf&> && Viewable<Eigen::Map<Eigen::MatrixXf>>);
static_assert(!Viewable<Eigen::MatrixXf> && !Viewable<Temporary> && !Viewable<std::vector<float>&>);
static_assert(std::is_same_v<decltype(view(std::declval<const Eigen::MatrixXf&>())), MatrixView<const float>>);

TEST(Eigen, MatricesBlocksAndTransposes) {
  Eigen::MatrixXd a(5, 7), c = Eigen::MatrixXd::Constant(9, 8, -1);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> b(6, 4);
  for (int i = 0; i < a.size(); ++i) a.data()[i] = i % 11 - 5;
  for (int i = 0; i < b.size(); ++i) b.data()[i] = i % 7 - 3;
  const Eigen::MatrixXd due = a.block(1, 2, 3, 4).transpose() * b.topRows(3);
  const Status status = gemm(view(a.block(1, 2, 3, 4).transpose()), view(b.topRows(3)), view(c.block(2, 3, 4, 4)));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c.block(2, 3, 4, 4), due);
  c.block(2, 3, 4, 4).setConstant(-1);
  EXPECT_EQ(c, Eigen::MatrixXd::Constant(9, 8, -1));
}

TEST(Eigen, MapsWithStrides) {
  std::vector<float> storage(60, 2);
  const Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, 2>> map(storage.data(), 3, 4, {12, 2});
  const auto seen = view(map);
  EXPECT_EQ(seen.row_stride, 2);
  EXPECT_EQ(seen.column_stride, 12);
  const Eigen::Vector3f x(1, 2, 3);
  Eigen::Vector4f y;
  ASSERT_TRUE(gemm(view(map.transpose()), view(x), view(y)).ok());
  EXPECT_EQ(y, Eigen::Vector4f::Constant(12));
}

TEST(Eigen, Conjugates) {
  Eigen::MatrixXcf a(2, 2), c(2, 2);
  a << std::complex<float>(1, 2), std::complex<float>(0, -1), std::complex<float>(3, 0), std::complex<float>(-1, 1);
  ASSERT_TRUE(gemm(view(a.transpose()).conjugated(), view(a), view(c)).ok());
  EXPECT_EQ(c, (a.adjoint() * a).eval());
}

}  // namespace
}  // namespace exactile
