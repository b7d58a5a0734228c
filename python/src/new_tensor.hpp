// SPDX-License-Identifier: Apache-2.0
/// \file Memory for results in torch's tensors, by the function that the code of its own compiler calls: torch's other
/// ways to a new tensor, DLPack's among them, go through its dispatcher and take up to a microsecond longer.
#pragma once

#include "dlpack.hpp"
#include "view.hpp"

namespace exactile::python {

/// A new contiguous tensor of `like`'s library and type, as `wanted` says, its elements not set. Where the library has
/// several devices of one kind, it lies on the current one. Null, and no Python exception, where there is no such way.
[[nodiscard]] nb::object new_tensor(nb::handle like, const dlpack::Tensor& wanted);

}  // namespace exactile::python
