// SPDX-License-Identifier: Apache-2.0
/// \file
/// Grouped products: rows of A and C lie in groups, one behind the other, and each group has a B of its own, as tokens
/// and experts do. How many rows a group has is read when the product runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "exactile/plan.hpp"
#include "exactile/status.hpp"

namespace exactile {

/// For each group g: C[r, :] <- alpha * A[r, :] * B[g] + beta * C[r, :] for its rows r, which are offsets[g] <= r <
/// offsets[g + 1]. A is total_rows x k, B is `groups` matrices of k x n, C is total_rows x n. With scales sums are
/// multiplied by them first, as GemmDescription says: by row_scales[r], and element j by column_scales[g * n + j].
struct GroupedDescription {
  GemmTypes types;
  std::int64_t groups = 0;
  std::int64_t total_rows = 0;  ///< that A and C have in memory: at least as many as all groups together
  std::int64_t n = 0;
  std::int64_t k = 0;
  OperandLayout a;          ///< strides of the whole matrix; no batch stride
  OperandLayout b;          ///< of a k x n matrix, with the stride from group to group in batch_stride
  OperandLayout c;          ///< as a
  bool row_scales = false;  ///< GroupedArguments::row_scales is given; real floating types only
  bool column_scales = false;
  friend bool operator==(const GroupedDescription&, const GroupedDescription&) = default;
};

/// The data of one run, all of it in host memory or all of it in device memory, as the plan was made.
struct GroupedArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  /// groups + 1 of them, ascending from 0 or more to total_rows at most. Rows before the first and from the last on are
  /// in no group: A's are not used, C's are left as they are. Groups may be empty.
  const std::int64_t* offsets = nullptr;
  Scalar alpha = 1;
  Scalar beta = 0;
  const void* row_scales = nullptr;     ///< total_rows factors of the type that sums
  const void* column_scales = nullptr;  ///< n factors a group
};

namespace detail {
class GroupedState;
}

/// A grouped product whose kernel is settled, for any offsets. Cheap to copy; run() is const and may be called from
/// many threads at once as long as their C operands do not overlap.
///
/// On the processor (Memory::host) all types and layouts of gemm(): each group is the product that gemm() would do,
/// with its bits. On CUDA (Memory::device) bf16 and f16, C of that type or f32, and under `reduced` f8e4m3 with C of
/// bf16 or f32 and columns of each B contiguous, on devices of compute capability 9.0: one persistent launch, which
/// reads the offsets on the device, so a captured graph serves every routing. There
///  - k is 1 to 32768, alpha is not 0;
///  - rows of A and C are contiguous, columns or rows of each B are; addresses of A and B, their leading dimensions and
///    B's batch stride are multiples of 16 bytes (C may lie anywhere);
///  - offsets cannot be refused: what is below 0 or an offset before counts as the largest so far, what is above
///    total_rows as total_rows, so nothing is written outside C, and no row twice. They must not change during a run;
///  - bits of an element are those of `reproducible` products: they depend on the row of A, the column of B and k
///    alone, not on the other rows, groups or the plan.
class GroupedPlan {
 public:
  /// `options`: the backend may be left open, Memory says where operands are. Fails with invalid_argument for sizes and
  /// strides, unsupported for what the backend cannot do, and as Plan::make() does.
  [[nodiscard]] static Result<GroupedPlan> make(const GroupedDescription& description, const GemmOptions& options = {});

  /// beta = 0 never reads C. C must share no element with A, B or the scales. In host memory bad offsets are refused
  /// (invalid_argument) before anything is written, and run() returns when C is written. In device memory it enqueues
  /// the work on execution.queue and returns; no workspace is needed.
  [[nodiscard]] Status run(const GroupedArguments& arguments, const Execution& execution = {}) const;

  [[nodiscard]] const GroupedDescription& description() const noexcept;
  /// The kernel's name; empty where each group has its own, or there is nothing to multiply.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// For people: the product, and how it is computed.
  [[nodiscard]] std::string explain() const;

 private:
  explicit GroupedPlan(std::shared_ptr<const detail::GroupedState> state) : state_(std::move(state)) {}
  std::shared_ptr<const detail::GroupedState> state_;
};

}  // namespace exactile
