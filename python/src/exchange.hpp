// SPDX-License-Identifier: Apache-2.0
/// \file Tensors whose library has DLPack's C functions (1.2 and later): read and made in a fraction of a microsecond.
#pragma once

#include "dlpack.hpp"
#include "multiply.hpp"

namespace exactile::python {

struct Exchange;

/// The operands of a product of two such tensors.
struct ExchangedPair {
  const Exchange* exchange = nullptr;
  dlpack::DataType type;  ///< of both, and of the result
  dlpack::Device device;  ///< a's
  View a, b;
};

/// False, and nothing has happened, unless both are tensors of one class, one device and one type, an integer or a real
/// number of 16 bits or more, without gradients and not lazily negated.
[[nodiscard]] bool look_at_pair(nb::handle a, nb::handle b, ExchangedPair& pair);

/// The same for `out` beside a pair: true for a tensor that the product can be written to, of its type or of one that
/// keeps all of it, and for None where the type of the pair does.
[[nodiscard]] bool look_at_out(const ExchangedPair& pair, nb::handle a, nb::handle out, View& view);

/// The product in `out`, which is answered, or where that is None in a new tensor of a's library; computed on the
/// library's current stream.
[[nodiscard]] nb::object multiply_exchanged(const ExchangedPair& pair, nb::handle a, nb::handle out, View& view,
                                            Request& request);

}  // namespace exactile::python
