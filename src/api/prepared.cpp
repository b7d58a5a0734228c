// SPDX-License-Identifier: Apache-2.0
// Operands that are brought into a kernel's form once: what is kept, and which plans take it.
#include <fmt/format.h>

#include "api/plan_state.hpp"

namespace exactile {
namespace detail {
namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

OperandShape shape_of(const GemmDescription& d, Operand operand) {
  const bool is_a = operand == Operand::a;
  OperandShape shape{is_a ? d.types.input : d.types.input_b, is_a ? d.m : d.k, is_a ? d.k : d.n, d.batch_count,
                     is_a ? d.a : d.b};
  if (shape.layout.pointer_array) return shape;
  // One matrix is one matrix, however many products it is for.
  if (shape.count <= 1 || shape.layout.batch_stride == 0) {
    shape.count = 1;
    shape.layout.batch_stride = 0;
  }
  return shape;
}

std::string to_text(const OperandShape& s) {
  std::string text = fmt::format("{} x {} {} with strides ({}, {})", s.rows, s.columns, to_string(s.type),
                                 s.layout.row_stride, s.layout.column_stride);
  if (s.layout.pointer_array) return text + fmt::format(", {} by pointers", s.count);
  if (s.count != 1) text += fmt::format(", {} with batch stride {}", s.count, s.layout.batch_stride);
  return text;
}

std::string to_text(const plan::KernelEntry* kernel, Memory memory, int device, bool reproducible) {
  if (kernel == nullptr) return "a product with nothing to compute";
  return fmt::format("kernel '{}' on device {}, operands in {} memory{}", kernel->name, device,
                     memory == Memory::host ? "host" : "device", reproducible ? ", reproducible" : "");
}

}  // namespace

Result<PreparedOperand> PlanState::prepare(Operand operand, const void* elements, const Execution& execution) const {
  if (operand > Operand::b)
    return invalid(fmt::format("operand = {}: no such value; expected a or b", static_cast<int>(operand)));
  std::shared_ptr<const plan::PreparedForm> form;
  if (executable_ != nullptr) {
    if (elements == nullptr)
      return invalid(fmt::format("elements = null: expected a pointer to the elements of {}", to_string(operand)));
    auto made = executable_->prepare(operand, elements, execution);
    if (!made.ok()) return made.status();
    form = std::move(made).value();
  }
  return PreparedOperand(std::make_shared<const PreparedState>(
      PreparedState{operand, kernel_, problem_.memory, problem_.device, problem_.reproducible,
                    shape_of(problem_.description, operand), elements, std::move(form)}));
}

/// Puts the elements where arguments have them, and the form beside; says why this plan cannot take what is given.
Status PlanState::use_prepared(Operand operand, const PreparedOperand* prepared, const void*& elements,
                               const plan::PreparedForm*& form) const {
  if (prepared == nullptr) return {};
  const std::string_view name = to_string(operand);
  if (prepared->state_ == nullptr)
    return invalid(fmt::format("prepared_{} has been moved from: expected what Plan::prepare() answered", name));
  if (elements != nullptr) return invalid(fmt::format("{0} and prepared_{0} are both given: expected one", name));
  const PreparedState& state = *prepared->state_;
  if (state.operand != operand)
    return invalid(fmt::format("prepared_{} was prepared as {}: expected one prepared as {}", name,
                               to_string(state.operand), name));
  if (state.kernel != kernel_ || state.memory != problem_.memory || state.device != problem_.device ||
      state.reproducible != problem_.reproducible)
    return invalid(fmt::format("prepared_{} was prepared for {}: expected one for {}", name,
                               to_text(state.kernel, state.memory, state.device, state.reproducible),
                               to_text(kernel_, problem_.memory, problem_.device, problem_.reproducible)));
  if (const OperandShape expected = shape_of(problem_.description, operand); !(state.shape == expected))
    return invalid(fmt::format("prepared_{} is {}: expected {}", name, to_text(state.shape), to_text(expected)));
  elements = state.elements;
  form = state.form.get();
  return {};
}

Status PlanState::run_prepared(const GemmArguments& given, const Execution& execution) const {
  GemmArguments arguments = given;
  plan::PreparedForms forms;
  if (Status s = use_prepared(Operand::a, given.prepared_a, arguments.a, forms.a); !s.ok()) return s;
  if (Status s = use_prepared(Operand::b, given.prepared_b, arguments.b, forms.b); !s.ok()) return s;
  return run(arguments, forms, execution);
}

}  // namespace detail

std::string_view to_string(Operand operand) noexcept { return operand == Operand::a ? "a" : "b"; }

Operand PreparedOperand::operand() const noexcept { return state_ == nullptr ? Operand::a : state_->operand; }

std::int64_t PreparedOperand::bytes() const noexcept {
  return state_ == nullptr || state_->form == nullptr ? 0 : state_->form->bytes();
}

}  // namespace exactile
