// SPDX-License-Identifier: Apache-2.0
/// \file Tensors whose library has DLPack's C functions (1.2 and later): read and made in a fraction of a microsecond.
#pragma once

#include <functional>

#include "multiply.hpp"

namespace exactile::python {

/// a @ b of two such tensors of one class and one real type of 16 bits or more, without gradients and not lazily
/// negated: a tensor of their library, computed on its current stream. None for others; nothing has happened then.
[[nodiscard]] nb::object multiply_by_exchange(nb::handle a, nb::handle b,
                                              const std::function<Request(ElementType)>& request);

}  // namespace exactile::python
