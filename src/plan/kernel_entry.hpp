// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a backend tells the planner about itself: plain lists of plain aggregates. The planner knows no backend by
/// name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/devices.hpp"
#include "exactile/tuning.hpp"
#include "plan/problem.hpp"

namespace exactile {
struct GroupedDescription;
}

namespace exactile::plan {

/// Of a kernel's types those that devices have; what the processor alone multiplies comes last in all_gemm_types().
[[nodiscard]] inline std::span<const GemmTypes> types_of_devices(std::span<const GemmTypes> types) {
  using enum ElementType;
  const auto is_of_processor = [](GemmTypes t) {
    return t.input == u8 || t.input_b == u8 || t.input == i16 || (t.input == i32 && t.output == i64);
  };
  while (!types.empty() && is_of_processor(types.back())) types = types.first(types.size() - 1);
  return types;
}

/// What a kernel keeps of an operand that was prepared; whose it is, only the kernel knows.
class PreparedForm {
 public:
  virtual ~PreparedForm() = default;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// Forms in place of operands; null where an operand is read as it is. `arguments` have the elements in any case.
struct PreparedForms {
  const PreparedForm* a = nullptr;
  const PreparedForm* b = nullptr;
};

/// A product made ready to run: kernel, blocking and threads are settled. run() is const and safe to call from many
/// threads at once; it is never called with k = 0, alpha = 0 or an empty C (but see BackendEntry::prepare_scaling).
/// With operands in host memory it returns when C is written; with operands in device memory it only enqueues.
class Executable {
 public:
  virtual ~Executable() = default;
  [[nodiscard]] virtual Status run(const GemmArguments& arguments, const Execution& execution) const = 0;

  /// For kernels that read an operand in a form of their own: makes it, and returns when it is there. It may depend on
  /// the operand's own sizes, layout and batch and on the device, and on nothing else of the problem. Null: nothing to
  /// prepare.
  [[nodiscard]] virtual Result<std::shared_ptr<const PreparedForm>> prepare(Operand, const void* /*elements*/,
                                                                            const Execution&) const {
    return std::shared_ptr<const PreparedForm>();
  }
  /// run() with forms that prepare() made, here or for another product of the same kernel.
  [[nodiscard]] virtual Status run_prepared(const GemmArguments& arguments, const PreparedForms&,
                                            const Execution& execution) const {
    return run(arguments, execution);
  }

  [[nodiscard]] virtual std::string blocking() const = 0;  ///< "MR=12 NR=32 ..."; "" where there is none
  [[nodiscard]] virtual int threads() const { return 1; }
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual double model_bytes() const = 0;                 ///< see PlanSummary::model_bytes
  [[nodiscard]] virtual std::vector<Path> paths() const { return {}; }  ///< see PlanSummary::paths
};

/// A configuration in which a kernel would do a problem.
struct Offer {
  std::string parameters = {};     ///< that pin it, for Problem::parameters
  std::string configuration = {};  ///< the same for people; "" where a kernel has one way only
  double seconds = 0;              ///< estimated
};

/// One kernel. `name` is also the stem of its file or of its family's file.
struct KernelEntry {
  std::string_view name;
  Backend backend;
  std::string_view role;  ///< "ladder" kernels teach and are never chosen unless asked for; "engine" kernels compete
  std::string_view summary;
  std::span<const GemmTypes> types;
  /// Why this machine's device of that index cannot run it ("needs AVX-512F ..."); empty if it can.
  std::string_view (*unavailable)(int device);
  /// Why this kernel cannot do this problem (whose types are among `types`); empty if it can.
  std::string_view (*refuses)(const Problem&);
  /// Estimated seconds. Compared among the engine kernels that do not refuse; the first of equals in the list wins.
  double (*cost)(const Problem&);
  /// Its configurations for a problem that it does not refuse, cheapest first, at most so many. Null: it has one way,
  /// at cost().
  std::vector<Offer> (*offers)(const Problem&, std::size_t most) = nullptr;
  /// Never null; throws std::bad_alloc where there is no memory.
  std::unique_ptr<Executable> (*prepare)(const Problem&);
  /// Why this kernel gives way to any other that can do the problem, whatever they cost; empty if it competes.
  std::string_view (*gives_way)(const Problem&) = [](const Problem&) { return std::string_view(); };
  /// Computes on a device with memory of its own, and takes operands there too. For operands in host memory its backend
  /// or its name is asked for, or device_choice.hpp compares the device with the processor.
  bool on_device = false;
  /// Takes complex operands whose layout says `conjugate`; others are not asked about such products.
  bool conjugates = false;
  /// Keeps Accuracy::compensated and correctly_rounded; others are not asked about floating products of these.
  bool certifies = false;
  /// Keeps GemmOptions::reproducible, with the bits of all its backend's that do for the type, unless these give way.
  bool reproducible = false;
  /// Null where there is nothing to tune. Asked only where `unavailable` has no objection.
  TuningTarget (*tunable)(GemmTypes types, int device) = nullptr;
};

/// What stands behind a Context: one device, one queue of work on it, and memory there. Safe to use from many threads.
class DeviceContext {
 public:
  virtual ~DeviceContext() = default;
  /// What GemmArguments takes for the first byte; never null, also for 0 bytes.
  [[nodiscard]] virtual Result<void*> allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// What GemmArguments takes for the byte at `offset`; valid as long as the memory is.
  [[nodiscard]] virtual void* at(void* memory, std::int64_t offset) = 0;
  /// Both return when the copy is done, after all work enqueued before.
  [[nodiscard]] virtual Status upload(void* memory, std::int64_t offset, const void* from, std::int64_t bytes) = 0;
  [[nodiscard]] virtual Status download(void* to, void* memory, std::int64_t offset, std::int64_t bytes) = 0;
  [[nodiscard]] virtual Status fill_bytes(void* memory, std::int64_t offset, int value, std::int64_t bytes) = 0;
  [[nodiscard]] virtual Status synchronize() = 0;
  [[nodiscard]] virtual Execution execution() = 0;
  /// Seconds by the device's own clock from before the first to behind the last of what `enqueue` enqueues.
  [[nodiscard]] virtual Result<double> time(const std::function<Status()>& enqueue) = 0;
};

class GroupedExecutable;

struct BackendEntry {
  Backend backend;
  std::span<const KernelEntry> (*kernels)();
  std::vector<DeviceInfo> (*devices)();
  Result<double> (*measure_peak)(GemmTypes types, int device, int threads);
  /// Null where the backend computes in host memory.
  Result<std::unique_ptr<DeviceContext>> (*open)(int device) = nullptr;
  /// In device memory: C <- activation(beta * C + bias), what is left of alpha = 0 or k = 0; with a D, D <- C.
  std::unique_ptr<Executable> (*prepare_scaling)(const Problem& problem) = nullptr;
  /// Those of kernels() that take the types, in the same order: of a long list a plan then reads a few. Null: all of
  /// them are asked.
  std::span<const KernelEntry* const> (*kernels_of)(GemmTypes types) = nullptr;
  /// See measure_device(); null where the backend has no cost model that is measured.
  Result<Measurements> (*measure)(const Measuring& measuring) = nullptr;
  /// Whether operands in device memory are given by their address, so that overlap can be judged as the host's is.
  bool has_addresses = true;
  /// Asking for the kernels opens a driver, which a call that names neither backend nor kernel does only where the
  /// product could be worth it (device_choice.hpp).
  bool opens_driver = false;
  /// How far GemmOptions::reproducible reaches for such a problem: which devices and kernels leave the same bits, and a
  /// fingerprint of their order of summation. Null, or empty, where there is no more to say than the option does.
  std::string (*reach_of_bits)(const Problem& problem) = nullptr;
  /// A grouped product of operands in device memory, whose description is valid and whose C is not empty. Null where
  /// the backend has none.
  Result<std::unique_ptr<GroupedExecutable>> (*prepare_grouped)(const GroupedDescription& description,
                                                                const GemmOptions& options) = nullptr;
};

}  // namespace exactile::plan
