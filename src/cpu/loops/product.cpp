// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/product.hpp"

#include "core/arithmetic.hpp"
#include "cpu/loops/kinds.hpp"

namespace exactile::cpu {

template <class K>
void Product<K>::apply_epilogue(const GemmArguments& arguments) const {
  const GemmDescription& d = description_;
  const auto* bias = static_cast<const Sum<K>*>(arguments.bias);
  for (std::int64_t p = 0; p < d.batch_count; ++p) {
    Sum<K>* c = base<Sum<K>>(arguments.c, d.c, p);
    for (std::int64_t i = 0; i < d.m; ++i) {
      for (std::int64_t j = 0; j < d.n; ++j) {
        Sum<K>& element = c[i * d.c.row_stride + j * d.c.column_stride];
        const Sum<K> shifted =
            d.bias == Bias::none ? element : core::add(element, bias[d.bias == Bias::per_row ? i : j]);
        element = core::activate(d.activation, shifted);
      }
    }
  }
}

#define EXACTILE_PRODUCT(...) template class Product<__VA_ARGS__>;
EXACTILE_FOR_EACH_KIND(EXACTILE_PRODUCT)

}  // namespace exactile::cpu
