// SPDX-License-Identifier: Apache-2.0
/// \file A reproducible product on the GPU, and parts of it as products of their own.
#pragma once

#include "gpu/layered_matrix.hpp"

namespace exactile::test {

using Bytes = std::vector<std::byte>;
using verification::Fill;

/// What a product is, but for its sizes.
struct Kind {
  GemmTypes types;
  Accuracy accuracy = Accuracy::standard;
};

[[nodiscard]] inline std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const GemmTypes types : all_gemm_types()) {
    if (!is_floating(types.input) || is_complex(types.input)) continue;
    all.push_back({types});
    if (types.input == ElementType::f32 || size_in_bytes(types.input) == 1) all.push_back({types, Accuracy::reduced});
  }
  return all;
}

[[nodiscard]] inline std::string name_of(const Kind& kind) {
  return to_string(kind.types) + " " + std::string(to_string(kind.accuracy));
}

[[nodiscard]] inline GemmOptions options_of(const Kind& kind) {
  return {.backend = Backend::cuda, .accuracy = kind.accuracy, .memory = Memory::device, .reproducible = true};
}

/// A part of the whole: so many rows and columns from there on.
struct Part {
  std::int64_t row, m, column, n;
};

/// A, B and all of C.
class Whole {
 public:
  Whole(const Context& context, const Kind& kind, std::int64_t m, std::int64_t n, std::int64_t k,
        Fill fill = Fill::normal, bool is_spread = false)
      : context_(context),
        kind_(kind),
        m_(m),
        n_(n),
        k_(k),
        out_(size_in_bytes(kind.types.output)),
        a_(context, kind.types.input, m, k, fill, verification::Part::a, is_spread),
        b_(context, kind.types.input, k, n, fill, verification::Part::b, is_spread),
        room_(context.allocate(2 * (m + 16) * (n + 16) * out_)) {
    c_ = run({0, m, 0, n}, 0, options_of(kind));
  }

  [[nodiscard]] const Bytes& c() const { return c_; }
  [[nodiscard]] GemmDescription description(const Part& part, int variant) const {
    GemmDescription d = contiguous_case(kind_.types, part.m, part.n, k_).description;
    d.a = a_.layout(variant % layout_kinds);
    d.b = b_.layout(variant / layout_kinds % layout_kinds);
    d.c = layout_of(variant / 7 % 4, part.m, part.n);
    return d;
  }
  [[nodiscard]] GemmArguments arguments(const Part& part, int variant) const {
    return {.a = a_.at(variant % layout_kinds, part.row, 0),
            .b = b_.at(variant / layout_kinds % layout_kinds, 0, part.column),
            .c = room_.value().at()};
  }

  /// The part's elements, by rows, however operands and result lie. `enqueue`: the run, if it is no plain one.
  template <class Enqueue>
  Bytes run(const Part& part, int variant, const GemmOptions& options, const Enqueue& enqueue) {
    const GemmDescription d = description(part, variant);
    const Result<Plan> plan = Plan::make(d, options);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    if (!plan.ok()) return {};
    EXPECT_TRUE(room_.value().fill_bytes(0xff).ok());
    const Status status = enqueue(plan.value(), arguments(part, variant));
    EXPECT_TRUE(status.ok()) << status.message();
    return elements(d);
  }
  Bytes run(const Part& part, int variant, const GemmOptions& options) {
    return run(part, variant, options, [&](const Plan& plan, const GemmArguments& arguments) {
      return plan.run(arguments, context_.execution());
    });
  }

  /// The same elements of the whole.
  [[nodiscard]] Bytes expected(const Part& part) const {
    Bytes rows;
    for (std::int64_t i = part.row; i < part.row + part.m; ++i) {
      const auto from = c_.begin() + (i * n_ + part.column) * out_;
      rows.insert(rows.end(), from, from + part.n * out_);
    }
    return rows;
  }
  void expect_part(const Part& part, int variant) {
    EXPECT_TRUE(run(part, variant, options_of(kind_)) == expected(part)) << describe(part, variant);
  }
  [[nodiscard]] std::string describe(const Part& part, int variant) const {
    const Result<Plan> plan = Plan::make(description(part, variant), options_of(kind_));
    return name_of(kind_) + ", k = " + std::to_string(k_) + ": rows " + std::to_string(part.row) + " + " +
           std::to_string(part.m) + ", columns " + std::to_string(part.column) + " + " + std::to_string(part.n) +
           ", layouts " + std::to_string(variant) + ", by " +
           (plan.ok() ? std::string(plan.value().kernel()) + " " + plan.value().summary().blocking : "nothing");
  }

 private:
  /// Of the room, by rows.
  [[nodiscard]] Bytes elements(const GemmDescription& d) const {
    Bytes there(static_cast<std::size_t>(extent_of(d.c, d.m, d.n) * out_));
    EXPECT_TRUE(room_.value().download(there.data(), std::ssize(there)).ok());
    Bytes rows(static_cast<std::size_t>(d.m * d.n * out_));
    for (std::int64_t i = 0; i < d.m; ++i)
      for (std::int64_t j = 0; j < d.n; ++j)
        std::memcpy(rows.data() + (i * d.n + j) * out_,
                    there.data() + (i * d.c.row_stride + j * d.c.column_stride) * out_, static_cast<std::size_t>(out_));
    return rows;
  }

  const Context& context_;
  Kind kind_;
  std::int64_t m_, n_, k_, out_;
  LayeredMatrix a_, b_;
  Result<DeviceMemory> room_;
  Bytes c_;
};

}  // namespace exactile::test
