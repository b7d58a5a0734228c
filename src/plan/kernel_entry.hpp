// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a backend tells the planner about itself: plain lists of plain aggregates. The planner knows no backend by
/// name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/devices.hpp"
#include "plan/problem.hpp"

namespace exactile::plan {

/// A product made ready to run: kernel, blocking and threads are settled. run() is const and safe to call from many
/// threads at once; it is never called with k = 0, alpha = 0 or an empty C.
class Executable {
 public:
  virtual ~Executable() = default;
  [[nodiscard]] virtual Status run(const GemmArguments& arguments) const = 0;

  [[nodiscard]] virtual std::string blocking() const = 0;  ///< "MR=12 NR=32 ..."; "" where there is none
  [[nodiscard]] virtual int threads() const { return 1; }
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual double model_bytes() const = 0;  ///< see PlanSummary::model_bytes
};

/// One kernel. `name` is also the stem of its file or of its family's file.
struct KernelEntry {
  std::string_view name;
  std::string_view backend;
  std::string_view role;  ///< "ladder" kernels teach and are never chosen unless asked for; "engine" kernels compete
  std::string_view summary;
  std::span<const GemmTypes> types;
  /// Why this machine cannot run it ("needs AVX-512F ..."); empty if it can.
  std::string_view (*unavailable)();
  /// Why this kernel cannot do this problem (whose types are among `types`); empty if it can.
  std::string_view (*refuses)(const Problem&);
  /// Estimated seconds. Compared among the engine kernels that do not refuse; the first of equals in the list wins.
  double (*cost)(const Problem&);
  std::unique_ptr<Executable> (*prepare)(const Problem&);
  /// Why this kernel gives way to any other that can do the problem, whatever they cost; empty if it competes.
  std::string_view (*gives_way)(const Problem&) = [](const Problem&) { return std::string_view(); };
};

struct BackendEntry {
  std::string_view name;
  std::span<const KernelEntry> (*kernels)();
  std::vector<DeviceInfo> (*devices)();
  Result<double> (*measure_peak)(GemmTypes types, int threads);
};

}  // namespace exactile::plan
