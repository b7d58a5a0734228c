// SPDX-License-Identifier: Apache-2.0
#include "cpu/naive.hpp"

#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

class Naive final : public plan::Executable {
 public:
  explicit Naive(const GemmDescription& description) : description_(description) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    for (std::int64_t product = 0; product < description_.batch_count; ++product)
      reference::naive_rows(description_, arguments, product, 0, description_.m);
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override {
    const GemmDescription& d = description_;
    const double terms = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k);
    return 2 * terms * static_cast<double>(d.batch_count * size_in_bytes(d.types.input));
  }

 private:
  GemmDescription description_;
};

}  // namespace

plan::KernelEntry naive_entry() {
  return {.name = "cpu_naive",
          .backend = Backend::cpu,
          .role = "ladder",
          .summary = "the plain triple loop, one double-precision sum per element",
          .types = all_gemm_types(),
          .unavailable = [](int) { return std::string_view(); },
          .refuses = [](const plan::Problem&) { return std::string_view(); },
          .cost =
              [](const plan::Problem& p) {
                const GemmDescription& d = p.description;
                return operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count) / 1e9;
              },
          .prepare = [](const plan::Problem& p) -> std::unique_ptr<plan::Executable> {
            return std::make_unique<Naive>(p.description);
          },
          .conjugates = true};
}

}  // namespace exactile::cpu
