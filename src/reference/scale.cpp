// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic.hpp"
#include "core/type_dispatch.hpp"
#include "reference/naive.hpp"

namespace exactile::reference {
namespace {

template <class Sum, class Out>
void scale_product(const GemmDescription& d, const GemmArguments& arguments, Out* c) {
  const auto* bias = static_cast<const Out*>(arguments.bias);
  const Sum beta = arguments.beta.as<Sum>();
  const bool reads_c = beta != Sum{};
  for (std::int64_t i = 0; i < d.m; ++i) {
    for (std::int64_t j = 0; j < d.n; ++j) {
      Out& element = c[i * d.c.row_stride + j * d.c.column_stride];
      Sum value = reads_c ? core::scaled(beta, static_cast<Sum>(element)) : Sum{};
      if (d.bias != Bias::none) value = core::add(value, static_cast<Sum>(bias[d.bias == Bias::per_row ? i : j]));
      element = static_cast<Out>(core::activate(d.activation, value));
    }
  }
}

}  // namespace

void scale(const GemmDescription& description, const GemmArguments& arguments) {
  const bool unchanged = arguments.beta.is_integral() && arguments.beta.as<std::int64_t>() == 1;
  if (unchanged && description.bias == Bias::none && description.activation == Activation::none) return;
  core::with_operand_types(description.types, [&]<class A, class B, class Out>() {
    for (std::int64_t product = 0; product < description.batch_count; ++product)
      scale_product<Accumulator<A, Out>, Out>(
          description, arguments, static_cast<Out*>(product_base(arguments.c, description.c, product, sizeof(Out))));
  });
}

}  // namespace exactile::reference
