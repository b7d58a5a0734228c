// SPDX-License-Identifier: Apache-2.0
#include "cpu/scaled.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/arithmetic.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/threads/team.hpp"
#include "plan/transposed.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

template <class T>
class Scaled final : public plan::Executable {
 public:
  /// Read so that neighbours in a row of C are nearer than those in a column.
  Scaled(const GemmDescription& description, std::unique_ptr<plan::Executable> sums)
      : is_transposed_(description.c.row_stride < description.c.column_stride),
        d_(is_transposed_ ? plan::transposed(description) : description),
        sums_(std::move(sums)) {}

  [[nodiscard]] Status run(const GemmArguments& given, const Execution& execution) const override {
    const GemmArguments arguments = is_transposed_ ? plan::transposed(given) : given;
    const bool reads_c = !arguments.beta.is_zero();
    const auto before = reads_c ? std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements())) : nullptr;
    if (reads_c)
      for_each_row(arguments, [&](std::int64_t line, std::int64_t, const T* row) {
        T* const to = before.get() + line * d_.n;
        for (std::int64_t j = 0; j < d_.n; ++j) to[j] = row[j * d_.c.column_stride];
      });
    if (Status s = sums_->run(plan::sums_alone(given, given.c), execution); !s.ok()) return s;
    for_each_row(arguments, [&](std::int64_t line, std::int64_t i, T* row) {
      finish_row(arguments, i, reads_c ? before.get() + line * d_.n : nullptr, row);
    });
    return {};
  }

  [[nodiscard]] std::string blocking() const override { return sums_->blocking(); }
  [[nodiscard]] int threads() const override { return sums_->threads(); }
  /// With the copy of C, which only a beta other than zero needs.
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return sums_->workspace_bytes() + static_cast<std::int64_t>(sizeof(T)) * elements();
  }
  [[nodiscard]] double model_bytes() const override {
    return sums_->model_bytes() + 2 * sizeof(T) * static_cast<double>(elements());
  }

 private:
  [[nodiscard]] std::int64_t elements() const { return d_.m * d_.n * d_.batch_count; }

  /// Rows of all products, counted through; visit(that number, the row of its product, its first element).
  template <class Visit>
  void for_each_row(const GemmArguments& arguments, const Visit& visit) const {
    run_team(threads(), [&](const Member& member) {
      const Range mine = part_of(d_.m * d_.batch_count, member.count, member.id);
      for (std::int64_t line = mine.begin; line < mine.end; ++line) {
        auto* c = static_cast<T*>(reference::product_base(arguments.c, d_.c, line / d_.m, sizeof(T)));
        visit(line, line % d_.m, c + line % d_.m * d_.c.row_stride);
      }
    });
  }

  void finish_row(const GemmArguments& arguments, std::int64_t i, const T* before, T* row) const {
    const auto* row_scales = d_.row_scales ? static_cast<const T*>(arguments.row_scales) : nullptr;
    const auto* column_scales = d_.column_scales ? static_cast<const T*>(arguments.column_scales) : nullptr;
    const auto* bias = static_cast<const T*>(arguments.bias);
    const T alpha = arguments.alpha.as<T>();
    const T beta = arguments.beta.as<T>();
    const T of_row = row_scales == nullptr ? T(1) : row_scales[i];
    for (std::int64_t j = 0; j < d_.n; ++j) {
      T& element = row[j * d_.c.column_stride];
      const T of_column = column_scales == nullptr ? T(1) : column_scales[j];
      // The caller's row first.
      T value = core::multiply(core::multiply(element, is_transposed_ ? of_column : of_row),
                               is_transposed_ ? of_row : of_column);
      value = core::multiply(value, alpha);
      if (before != nullptr) value = core::multiply_add(beta, before[j], value);
      if (d_.bias != Bias::none) value = core::add(value, bias[d_.bias == Bias::per_row ? i : j]);
      element = core::activate(d_.activation, value);
    }
  }

  bool is_transposed_;
  GemmDescription d_;
  std::unique_ptr<plan::Executable> sums_;
};

}  // namespace

template <class T>
std::unique_ptr<plan::Executable> make_scaled(const plan::Problem& problem, std::unique_ptr<plan::Executable> sums) {
  return std::make_unique<Scaled<T>>(problem.description, std::move(sums));
}

template std::unique_ptr<plan::Executable> make_scaled<float>(const plan::Problem&, std::unique_ptr<plan::Executable>);
template std::unique_ptr<plan::Executable> make_scaled<double>(const plan::Problem&, std::unique_ptr<plan::Executable>);

}  // namespace exactile::cpu
