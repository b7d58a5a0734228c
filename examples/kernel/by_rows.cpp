// SPDX-License-Identifier: Apache-2.0
#include "cpu/by_rows.hpp"

#include <array>

#include "plan/scales.hpp"
#include "reference/naive.hpp"  // product_base(): where product p of a batch starts

namespace exactile::cpu {
namespace {

constexpr std::array by_rows_types{GemmTypes{ElementType::f64, ElementType::f64}};

/// A product made ready. Everything that can be settled before the data is known is settled in the constructor.
class ByRows final : public plan::Executable {
 public:
  explicit ByRows(const plan::Problem& problem) : description_(problem.description) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    const GemmDescription& d = description_;
    const double alpha = arguments.alpha.as<double>();
    const double beta = arguments.beta.as<double>();
    for (std::int64_t product = 0; product < d.batch_count; ++product) {
      const auto* a = static_cast<const double*>(reference::product_base(arguments.a, d.a, product, sizeof(double)));
      const auto* b = static_cast<const double*>(reference::product_base(arguments.b, d.b, product, sizeof(double)));
      auto* c = static_cast<double*>(reference::product_base(arguments.c, d.c, product, sizeof(double)));
      for (std::int64_t i = 0; i < d.m; ++i) {
        double* row = c + i * d.c.row_stride;
        // beta = 0 does not read C: NaN that was there must not survive.
        for (std::int64_t j = 0; j < d.n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
        for (std::int64_t p = 0; p < d.k; ++p) {
          const double left = alpha * a[i * d.a.row_stride + p * d.a.column_stride];
          for (std::int64_t j = 0; j < d.n; ++j) row[j] += left * b[p * d.b.row_stride + j * d.b.column_stride];
        }
      }
    }
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return {}; }  // "MR=12 NR=32 ..." for explain
  [[nodiscard]] double model_bytes() const override {
    return 8.0 * static_cast<double>(description_.m) * 3.0 * static_cast<double>(description_.n) *
           static_cast<double>(description_.k);
  }

 private:
  GemmDescription description_;
};

}  // namespace

plan::KernelEntry by_rows_entry() {
  return {.name = "cpu_by_rows",
          .backend = exactile::Backend::cpu,
          .role = "ladder",  // "engine" lets the planner choose it
          .summary = "rows of B, one after the other, added to a row of C",
          .types = by_rows_types,
          .unavailable = [](int) { return std::string_view(); },  // or why_unavailable(Isa::avx512)
          .refuses = [](const plan::Problem& p) -> std::string_view {
            if (p.description.bias != Bias::none || p.description.activation != Activation::none ||
                plan::has_scales(p.description))
              return "has no epilogue";
            return p.description.c.column_stride == 1 ? "" : "needs a C whose rows are contiguous";
          },
          .cost =
              [](const plan::Problem& p) {
                const GemmDescription& d = p.description;
                return operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count) / 4e9;
              },
          .prepare = [](const plan::Problem& p) -> std::unique_ptr<plan::Executable> {
            return std::make_unique<ByRows>(p);
          }};
}

}  // namespace exactile::cpu
