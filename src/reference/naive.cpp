// SPDX-License-Identifier: Apache-2.0
#include "reference/naive.hpp"

#include "core/arithmetic.hpp"
#include "core/type_dispatch.hpp"

namespace exactile::reference {
namespace {

/// Real floats sum in double: the write-ups' accumulator, and at least as good as the type's own.
template <class T>
struct WideSum {
  using type = T;
};
template <>
struct WideSum<float> {
  using type = double;
};
template <>
struct WideSum<std::complex<float>> {
  using type = std::complex<double>;
};

template <class A, class B, class Out>
void rows(const GemmDescription& d, const GemmArguments& arguments, std::int64_t product, std::int64_t row_begin,
          std::int64_t row_end) {
  using Factor = Accumulator<A, Out>;
  using Sum = typename WideSum<Factor>::type;
  const auto* a = static_cast<const A*>(product_base(arguments.a, d.a, product, sizeof(A)));
  const auto* b = static_cast<const B*>(product_base(arguments.b, d.b, product, sizeof(B)));
  auto* c = static_cast<Out*>(product_base(arguments.c, d.c, product, sizeof(Out)));
  const auto* bias = static_cast<const Out*>(arguments.bias);
  const auto* row_scales = d.row_scales ? static_cast<const Factor*>(arguments.row_scales) : nullptr;
  const auto* column_scales = d.column_scales ? static_cast<const Factor*>(arguments.column_scales) : nullptr;
  const Sum alpha = arguments.alpha.as<Sum>();
  const Sum beta = arguments.beta.as<Sum>();
  const bool reads_c = beta != Sum{};
  const auto widen = [](auto x) { return static_cast<Sum>(static_cast<Factor>(x)); };

  for (std::int64_t i = row_begin; i < row_end; ++i) {
    for (std::int64_t j = 0; j < d.n; ++j) {
      Sum sum{};
      for (std::int64_t p = 0; p < d.k; ++p)
        sum = core::multiply_add(
            core::conjugate_if(d.a.conjugate, widen(a[i * d.a.row_stride + p * d.a.column_stride])),
            core::conjugate_if(d.b.conjugate, widen(b[p * d.b.row_stride + j * d.b.column_stride])), sum);
      if (row_scales != nullptr) sum = core::multiply(sum, static_cast<Sum>(row_scales[i]));
      if (column_scales != nullptr) sum = core::multiply(sum, static_cast<Sum>(column_scales[j]));
      Out& element = c[i * d.c.row_stride + j * d.c.column_stride];
      Sum value = core::scaled(alpha, sum);
      if (reads_c) value = core::add_scaled(beta, widen(element), value);
      if (d.bias != Bias::none) value = core::add(value, widen(bias[d.bias == Bias::per_row ? i : j]));
      element = static_cast<Out>(static_cast<Factor>(core::activate(d.activation, value)));
    }
  }
}

}  // namespace

void naive_rows(const GemmDescription& description, const GemmArguments& arguments, std::int64_t product,
                std::int64_t row_begin, std::int64_t row_end) {
  core::with_operand_types(description.types, [&]<class A, class B, class Out>() {
    rows<A, B, Out>(description, arguments, product, row_begin, row_end);
  });
}

}  // namespace exactile::reference
