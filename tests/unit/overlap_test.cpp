// SPDX-License-Identifier: Apache-2.0
// C must not share an element with A, B, the bias or the scales; blocks of one storage that do not are fine.
#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "exactile/exactile.hpp"

namespace exactile {
namespace {

class Overlap : public testing::Test {
 protected:
  std::vector<float> storage_ = std::vector<float>(64 * 64, 1.0F);
  std::vector<float> other_ = std::vector<float>(64 * 64, 1.0F);
  MatrixView<float> whole_{storage_.data(), 64, 64};
  MatrixView<float> apart_{other_.data(), 64, 64};

  void expect_refused(MatrixView<float> a, MatrixView<float> b, MatrixView<float> c) {
    const Status status = gemm(a, b, c);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find("c "), std::string_view::npos) << status.message();
  }
  void expect_accepted(MatrixView<float> a, MatrixView<float> b, MatrixView<float> c) {
    const Status status = gemm(a, b, c);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(c(0, 0), static_cast<float>(a.columns));
    EXPECT_EQ(c(c.rows - 1, c.columns - 1), static_cast<float>(a.columns));
  }
};

TEST_F(Overlap, SamePlace) {
  expect_refused(whole_, apart_, whole_);
  expect_refused(apart_, whole_, whole_);
  expect_refused(apart_, apart_, apart_);
  expect_refused(whole_.transposed(), apart_, whole_);
}

TEST_F(Overlap, OneElementShared) {
  const auto c = whole_.submatrix(0, 0, 8, 8);
  expect_refused(whole_.submatrix(7, 7, 8, 8), apart_.submatrix(0, 0, 8, 8), c);
  expect_refused(apart_.submatrix(0, 0, 8, 8), whole_.submatrix(7, 7, 8, 8), c);
}

TEST_F(Overlap, ScalesInC) {
  const auto c = whole_.submatrix(0, 0, 8, 8);
  const auto a = apart_.submatrix(0, 0, 8, 8);
  const float* const inside = &c(1, 0);
  Status status = gemm(a, a, c, {.row_scales = inside});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("row_scales"), std::string_view::npos) << status.message();
  status = gemm(a, a, c, {.column_scales = inside - 1});
  EXPECT_NE(status.message().find("column_scales"), std::string_view::npos) << status.message();
  EXPECT_TRUE(gemm(a, a, c, {.row_scales = &whole_(0, 8), .column_scales = &whole_(3, 8)}).ok());
  float* const pointers[] = {&c(0, 0)};
  float* const of_a[] = {&a(0, 0)};
  const PointerBatchView<float> operand{a, 1, of_a};
  status = gemm(operand, operand, PointerBatchView<float>{c, 1, pointers}, {.row_scales = inside});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
}

TEST_F(Overlap, BiasInC) {
  const auto c = whole_.submatrix(0, 0, 8, 8);
  const auto a = apart_.submatrix(0, 0, 8, 8);
  for (const Bias bias : {Bias::per_row, Bias::per_column}) {
    const auto call = [bias](const float* elements) -> GemmCall<float, float> {
      return bias == Bias::per_row ? GemmCall<float, float>{.row_bias = elements}
                                   : GemmCall<float, float>{.column_bias = elements};
    };
    const Status status = gemm(a, a, c, call(&c(7, 7)));
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find("bias"), std::string_view::npos) << status.message();
    EXPECT_TRUE(gemm(a, a, c, call(&whole_(0, 8))).ok());
  }
}

TEST_F(Overlap, BlocksSideBySide) {
  const auto c = whole_.submatrix(0, 0, 8, 8);
  expect_accepted(whole_.submatrix(0, 8, 8, 8), apart_.submatrix(0, 0, 8, 8), c);
  storage_.assign(storage_.size(), 1.0F);
  expect_accepted(whole_.submatrix(0, 8, 8, 8), whole_.submatrix(8, 0, 8, 8), c);
  storage_.assign(storage_.size(), 1.0F);
  expect_accepted(whole_.submatrix(0, 56, 8, 8), whole_.submatrix(3, 8, 8, 8), whole_.submatrix(2, 16, 8, 8));
}

TEST_F(Overlap, BlocksOfOneColumnMajorStorage) {
  const auto whole = whole_.transposed();
  expect_accepted(whole.submatrix(8, 0, 8, 8), whole.submatrix(0, 8, 8, 8), whole.submatrix(0, 0, 8, 8));
  expect_refused(whole.submatrix(0, 7, 8, 8), apart_.submatrix(0, 0, 8, 8), whole.submatrix(0, 0, 8, 8));
}

TEST_F(Overlap, NegativeStridesReachBackwards) {
  const MatrixView<float> backwards(storage_.data() + 64, 8, 8, -8, 1);  // rows at 64, 56, ..., 8
  expect_refused(backwards, apart_.submatrix(0, 0, 8, 8), MatrixView<float>(storage_.data() + 8, 8, 8));
  expect_accepted(backwards, apart_.submatrix(0, 0, 8, 8), MatrixView<float>(storage_.data() + 72, 8, 8));
}

TEST_F(Overlap, BatchesReachAllTheirProducts) {
  const MatrixView<const float> first(other_.data(), 4, 4);
  const BatchView<const float> batch{first, 4, 16};
  const BatchView<const float> late{MatrixView<const float>(storage_.data() + 60, 4, 4), 4, 0};
  const BatchView<float> c{MatrixView<float>(storage_.data(), 4, 4), 4, 16};
  EXPECT_EQ(gemm(batch, late, c).code(), StatusCode::invalid_argument);
  const BatchView<const float> behind{MatrixView<const float>(storage_.data() + 64, 4, 4), 4, 0};
  EXPECT_TRUE(gemm(batch, behind, c).ok());
}

TEST_F(Overlap, PointerArraysAreComparedProductByProduct) {
  float* data = storage_.data();
  const float* a_pointers[] = {other_.data(), other_.data()};
  const float* b_pointers[] = {data + 16, data};
  float* c_pointers[] = {data, data + 16};
  const MatrixView<const float> shape(nullptr, 4, 4);
  const PointerBatchView<const float> a{shape, 2, a_pointers};
  const PointerBatchView<float> c{MatrixView<float>(nullptr, 4, 4), 2, c_pointers};
  EXPECT_TRUE(gemm(a, PointerBatchView<const float>{shape, 2, b_pointers}, c).ok());
  const float* bad[] = {data + 16, data + 16};
  const Status status = gemm(a, PointerBatchView<const float>{shape, 2, bad}, c);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find('1'), std::string_view::npos) << status.message();
}

/// Product p's A and C lie side by side in the rows of one storage.
TEST_F(Overlap, InterleavedBatches) {
  const MatrixView<float> a(storage_.data(), 4, 8, 64, 1);
  const MatrixView<float> c(storage_.data() + 8, 4, 8, 64, 1);
  const BatchView<const float> b{MatrixView<const float>(other_.data(), 8, 8), 4, 0};
  const auto batch = [](MatrixView<float> first, std::int64_t stride) { return BatchView<float>{first, 4, stride}; };
  const auto reading = [](MatrixView<float> first, std::int64_t stride) {
    return BatchView<const float>{MatrixView<const float>(first), 4, stride};
  };
  for (const std::int64_t stride : {16, 4 * 64, 4 * 64 + 16, 5 * 64 + 3}) {
    storage_.assign(storage_.size(), 1.0F);
    const Status status = gemm(reading(a, stride), b, batch(c, stride));
    EXPECT_TRUE(status.ok()) << stride << ": " << status.message();
    EXPECT_EQ(storage_[static_cast<std::size_t>(8 + 3 * stride)], 8.0F) << stride;
    EXPECT_EQ(storage_[static_cast<std::size_t>(3 * stride)], 1.0F) << stride;
  }
  EXPECT_EQ(gemm(reading(a, 8), b, batch(c, 16)).code(), StatusCode::invalid_argument);  // A 1 is C 0
  EXPECT_EQ(gemm(reading(a, 0), b, batch(c, 56)).code(), StatusCode::invalid_argument);  // C 1 reaches A's next row
}

TEST_F(Overlap, PointerArraysOfBlocksOfOneMatrix) {
  std::vector<const float*> a;
  std::vector<const float*> b;
  std::vector<float*> c;
  for (int p = 0; p < 3; ++p) {
    a.push_back(storage_.data() + 16 * p);
    b.push_back(storage_.data() + 64 * 8 + 16 * p);
    c.push_back(storage_.data() + 8 + 16 * p);
  }
  const MatrixView<const float> read(nullptr, 8, 8, 64, 1);
  const PointerBatchView<float> written{MatrixView<float>(nullptr, 8, 8, 64, 1), 3, c.data()};
  const PointerBatchView<const float> left{read, 3, a.data()};
  const PointerBatchView<const float> right{read, 3, b.data()};
  const Status status = gemm(left, right, written);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(whole_(7, 47), 8.0F);
  a[2] += 1;
  EXPECT_EQ(gemm(left, right, written).code(), StatusCode::invalid_argument);
}

TEST_F(Overlap, RefusedCallsTouchNothing) {
  const std::vector<float> before = storage_;
  expect_refused(whole_, apart_, whole_);
  EXPECT_EQ(storage_, before);
}

TEST_F(Overlap, NothingIsSharedByEmptyMatrices) {
  EXPECT_TRUE(gemm(whole_.submatrix(0, 0, 0, 8), apart_.submatrix(0, 0, 8, 8), whole_.submatrix(0, 0, 0, 8)).ok());
  EXPECT_TRUE(gemm(whole_.submatrix(0, 0, 8, 0), apart_.submatrix(0, 0, 0, 8), whole_.submatrix(0, 0, 8, 8)).ok());
  EXPECT_EQ(whole_(3, 3), 0.0F);
}

}  // namespace
}  // namespace exactile
