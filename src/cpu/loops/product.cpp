// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/product.hpp"

#include "core/arithmetic.hpp"

namespace exactile::cpu {

template <class T>
void Product<T>::apply_epilogue(const GemmArguments& arguments) const {
  const GemmDescription& d = description_;
  const auto* bias = static_cast<const T*>(arguments.bias);
  for (std::int64_t p = 0; p < d.batch_count; ++p) {
    T* c = base<T>(arguments.c, d.c, p);
    for (std::int64_t i = 0; i < d.m; ++i) {
      for (std::int64_t j = 0; j < d.n; ++j) {
        T& element = c[i * d.c.row_stride + j * d.c.column_stride];
        const T shifted = d.bias == Bias::none ? element : element + bias[d.bias == Bias::per_row ? i : j];
        element = core::activate(d.activation, shifted);
      }
    }
  }
}

template class Product<float>;
template class Product<double>;

}  // namespace exactile::cpu
