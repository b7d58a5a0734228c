// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/thread_count.hpp"
#include "plan/device_choice.hpp"
#include "plan/kernel_entry.hpp"
#include "plan/overlap.hpp"
#include "plan/quick_call.hpp"

namespace exactile::detail {

/// What is the same where two plans' operands are one and the same.
struct OperandShape {
  ElementType type;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;  ///< of matrices
  OperandLayout layout;
  friend bool operator==(const OperandShape&, const OperandShape&) = default;
};

/// What a PreparedOperand holds: for which product's operand it was made, of which elements, and the kernel's form.
struct PreparedState {
  Operand operand;
  const plan::KernelEntry* kernel;  ///< null where there was nothing to compute
  Memory memory;
  int device;
  bool reproducible;
  OperandShape shape;
  const void* elements;
  std::shared_ptr<const plan::PreparedForm> form;
};

/// What a Plan holds: the settled problem, the kernel, and what run() must check of the pointers.
class PlanState {
 public:
  [[nodiscard]] static Result<std::shared_ptr<const PlanState>> make(const GemmDescription& description,
                                                                     const GemmOptions& options);
  /// Runs a product that is over in nanoseconds if all about its arguments is plain at first sight; else nothing has
  /// happened, and run() says what is wrong or finds that nothing is.
  [[nodiscard]] bool run_quickly(const void* a, const void* b, void* c, double alpha, double beta) const;
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const;
  [[nodiscard]] Result<PreparedOperand> prepare(Operand operand, const void* elements,
                                                const Execution& execution) const;
  [[nodiscard]] PlanSummary summary() const;
  /// See plan::BackendEntry; of the backend that computes.
  [[nodiscard]] std::string reach_of_bits() const;
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept {
    if (there_ != nullptr && !devices_.only_if_pinned) return there_->workspace_bytes();
    return executable_ == nullptr ? 0 : executable_->workspace_bytes();
  }
  [[nodiscard]] const plan::Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] const GemmOptions& options() const noexcept { return options_; }
  /// "" where there is nothing to compute.
  [[nodiscard]] std::string_view kernel_name() const noexcept {
    if (there_ != nullptr && !devices_.only_if_pinned) return there_->kernel_name();
    return kernel_ == nullptr ? std::string_view() : kernel_->name;
  }
  /// To be asked once for each run. Whether it would be made the same again: for as many threads, and where the choice
  /// rested on what the process had done before, still without the device. Products over in nanoseconds need neither.
  [[nodiscard]] bool is_of_now() const {
    return quick_call_.run != nullptr ||
           (core::thread_count(options_.threads) == problem_.threads && !may_begin_first_use());
  }
  /// As it was given: problem() has the settled one.
  [[nodiscard]] const GemmDescription& description() const noexcept { return description_; }

 private:
  PlanState(const GemmDescription& description, const GemmOptions& given, const GemmOptions& options);
  [[nodiscard]] Status consider_devices();
  [[nodiscard]] bool may_begin_first_use() const;
  [[nodiscard]] plan::DeviceChoice devices_now() const;
  [[nodiscard]] bool goes_there(const GemmArguments& arguments) const;
  [[nodiscard]] std::optional<Status> run_there(const GemmArguments& arguments) const;
  [[nodiscard]] Status check_pointers(const GemmArguments& arguments) const;
  [[nodiscard]] Status check_operands(const GemmArguments& arguments) const;
  [[nodiscard]] Status check_c_entries(const GemmArguments& arguments) const;
  [[nodiscard]] Status check_overlap(const GemmArguments& arguments) const;
  [[nodiscard]] Status check_vectors_overlap(const GemmArguments& arguments, const void* c,
                                             const plan::Footprint& c_print) const;
  [[nodiscard]] Status use_prepared(Operand operand, const PreparedOperand* prepared, const void*& elements,
                                    const plan::PreparedForm*& form) const;
  [[nodiscard]] Status run_prepared(const GemmArguments& arguments, const Execution& execution) const;
  [[nodiscard]] Status run(const GemmArguments& arguments, const plan::PreparedForms& forms,
                           const Execution& execution) const;
  [[nodiscard]] Status check(const GemmArguments& arguments) const;
  [[nodiscard]] Status run_checked(const GemmArguments& arguments, const plan::PreparedForms& forms,
                                   const Execution& execution) const;
  [[nodiscard]] Status run_to_d(const GemmArguments& arguments, const plan::PreparedForms& forms,
                                const Execution& execution) const;
  [[nodiscard]] Status check_c_beside_d(const GemmArguments& arguments) const;
  /// Nothing is multiplied: C <- activation(beta * C + bias).
  [[nodiscard]] bool only_scales(const GemmArguments& arguments) const {
    return executable_ == nullptr || arguments.alpha.is_zero();
  }
  [[nodiscard]] const char* output_name() const { return description_.d ? "d" : "c"; }
  [[nodiscard]] Status check_pointer_array_overlap(const GemmArguments& arguments) const;

  GemmDescription description_;
  plan::Problem problem_;
  GemmOptions options_;  ///< as they were given
  GemmOptions asked_;    ///< with the process's defaults
  plan::Footprint a_print_;
  plan::Footprint b_print_;
  plan::Footprint c_print_;  ///< of the matrix that is written
  plan::Footprint bias_print_;
  plan::Footprint row_scales_print_;
  plan::Footprint column_scales_print_;
  bool pointer_arrays_ = false;
  bool has_addresses_ = true;  ///< see plan::BackendEntry
  bool needs_scalar_check_ = false;
  bool is_empty_ = false;
  plan::QuickCall quick_call_;
  const plan::KernelEntry* kernel_ = nullptr;  ///< null where there is nothing to compute
  std::string why_;                            ///< it was taken, where that was measured
  std::unique_ptr<const plan::Executable> executable_;
  std::unique_ptr<const plan::Executable> scaling_;   ///< alpha = 0 or k = 0 in device memory, or certified
  std::unique_ptr<const plan::Executable> bringing_;  ///< the elements of C to D, both in device memory
  plan::DeviceChoice devices_;
  std::shared_ptr<const PlanState> there_;  ///< the same product on the device of devices_; null: none was chosen
};

inline bool PlanState::run_quickly(const void* a, const void* b, void* c, double alpha, double beta) const {
  if (quick_call_.run == nullptr || a == nullptr || b == nullptr || c == nullptr || alpha == 0 ||
      !plan::disjoint(c, c_print_.hull, a, a_print_.hull) || !plan::disjoint(c, c_print_.hull, b, b_print_.hull))
    return false;
  quick_call_.run(quick_call_, a, b, c, alpha, beta);
  return true;
}

}  // namespace exactile::detail
