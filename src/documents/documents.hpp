// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the library says of itself as JSON, for its programs and the C interface: each a document of
/// "exactile.<what>/1", whose number rises when a key changes its meaning or goes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exactile/devices.hpp"

namespace exactile::documents {

/// What Plan::explain() says; the plan was made for that accuracy.
[[nodiscard]] std::string explain(const Plan& plan, Accuracy accuracy);

[[nodiscard]] std::string kernels(std::span<const KernelInfo> list);

/// Operations per second that were measured, by types.
using Peaks = std::vector<std::pair<GemmTypes, double>>;

/// All devices. `measure` is called with each and its index among its backend's; where it is not given, nothing is said
/// of peaks.
[[nodiscard]] std::string devices(const std::function<Peaks(const DeviceInfo&, int)>& measure = {});

}  // namespace exactile::documents
