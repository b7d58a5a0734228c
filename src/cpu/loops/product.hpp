// SPDX-License-Identifier: Apache-2.0
/// \file What every CPU product of one kind knows, whatever its loops.
#pragma once

#include <string>

#include "cpu/loops/kinds.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/orientation.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// The operands of one product of the batch, oriented.
template <class K>
struct Operands {
  const Input<K>* a;
  const Input<K>* b;
  Sum<K>* c;
  Sum<K> alpha;
  Sum<K> beta;
};

template <class K>
class Product : public plan::Executable {
 public:
  Product(const plan::Problem& problem, const MicroKernels<K>& kernels, const Orientation& orientation)
      : description_(problem.description), o_(orientation), kernels_(kernels) {}

  [[nodiscard]] double model_bytes() const override { return model_bytes_; }
  [[nodiscard]] std::string blocking() const override { return blocking_; }

 protected:
  /// Product number `index` of the batch.
  [[nodiscard]] Operands<K> operands(const GemmArguments& arguments, std::int64_t index) const {
    const void* a = o_.exchanged ? arguments.b : arguments.a;
    const void* b = o_.exchanged ? arguments.a : arguments.b;
    return {base<const Input<K>>(a, o_.a, index), base<const Input<K>>(b, o_.b, index),
            base<Sum<K>>(arguments.c, o_.c, index), arguments.alpha.template as<Sum<K>>(),
            arguments.beta.template as<Sum<K>>()};
  }

  /// bias and activation, after the last term; a no-op where the description has none.
  void finish(const GemmArguments& arguments) const {
    if (description_.bias != Bias::none || description_.activation != Activation::none) apply_epilogue(arguments);
  }

  GemmDescription description_;
  Orientation o_;
  const MicroKernels<K>& kernels_;
  double model_bytes_ = 0;
  std::string blocking_;

 private:
  void apply_epilogue(const GemmArguments& arguments) const;

  template <class U, class V>
  static U* base(V* data, const OperandLayout& layout, std::int64_t index) {
    if (layout.pointer_array) return static_cast<U* const*>(data)[index];
    return static_cast<U*>(data) + index * layout.batch_stride;
  }
};

#define EXACTILE_PRODUCT(...) extern template class Product<__VA_ARGS__>;
EXACTILE_FOR_EACH_KIND(EXACTILE_PRODUCT)
#undef EXACTILE_PRODUCT

}  // namespace exactile::cpu
