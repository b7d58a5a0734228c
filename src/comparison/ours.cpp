// SPDX-License-Identifier: Apache-2.0
#include "comparison/ours.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "exactile/devices.hpp"
#include "exactile/plan.hpp"

namespace exactile::comparison {
namespace {

OperandLayout layout_of(const Layout& layout, std::int64_t batch) {
  const std::int64_t batch_stride = batch == 1 ? 0 : layout.elements();
  if (layout.transposed) return {layout.step, layout.leading, batch_stride};
  return {layout.leading, layout.step, batch_stride};
}

[[noreturn]] void fail(const Status& status) { throw std::runtime_error("exactile: " + std::string(status.message())); }

class PlannedCall final : public Call {
 public:
  PlannedCall(Plan plan, const Execution& on) : plan_(std::move(plan)), on_(on) {}
  void run(Operands at, Strides strides, std::int64_t count) const override {
    for (std::int64_t i = 0; i < count; ++i, at = advance(at, strides, 1))
      if (const Status status = plan_.run({.a = at.a, .b = at.b, .c = at.c}, on_); !status.ok()) fail(status);
  }
  std::string kernel() const override { return plan_.summary().kernel; }

 private:
  Plan plan_;
  Execution on_;
};

/// Reads one or both operands in the form that the plan made of them, for every set before any is timed.
class PreparedCall final : public Call {
 public:
  PreparedCall(Plan plan, const OurOptions& options, const Execution& on)
      : plan_(std::move(plan)), on_(on), with_a_(options.prepared_a), with_b_(options.prepared_b) {}

  void meet(Operands first, Strides strides, std::int64_t sets) override {
    first_ = first;
    for (std::int64_t set = 0; set < sets; ++set) {
      const Operands at = advance(first, strides, set);
      if (with_a_) a_.push_back(prepared(Operand::a, at.a));
      if (with_b_) b_.push_back(prepared(Operand::b, at.b));
    }
  }

  std::string kernel() const override { return plan_.summary().kernel; }
  void run(Operands at, Strides strides, std::int64_t count) const override {
    std::size_t set = strides.c == 0 ? 0 : static_cast<std::size_t>(distance(first_.c, at.c) / strides.c);
    const std::size_t step = strides.c == 0 ? 0 : 1;
    for (std::int64_t i = 0; i < count; ++i, set += step, at = advance(at, strides, 1)) {
      GemmArguments arguments{.a = with_a_ ? nullptr : at.a, .b = with_b_ ? nullptr : at.b, .c = at.c};
      if (with_a_) arguments.prepared_a = &a_[set];
      if (with_b_) arguments.prepared_b = &b_[set];
      if (const Status status = plan_.run(arguments, on_); !status.ok()) fail(status);
    }
  }

 private:
  static std::ptrdiff_t distance(const void* from, const void* to) {
    return static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from);
  }

  [[nodiscard]] PreparedOperand prepared(Operand operand, const void* elements) const {
    Result<PreparedOperand> made = plan_.prepare(operand, elements, on_);
    if (!made.ok()) fail(made.status());
    return std::move(made).value();
  }

  Plan plan_;
  Execution on_;
  bool with_a_;
  bool with_b_;
  Operands first_;
  std::vector<PreparedOperand> a_;  ///< by set; empty where A is read as it lies
  std::vector<PreparedOperand> b_;
};

class Exactile final : public Contender {
 public:
  explicit Exactile(OurOptions options)
      : ours_(options), options_{.backend = options.backend, .kernel = std::move(options.kernel)} {
    if (options.context == nullptr) return;
    options_.memory = Memory::device;
    options_.device = options.context->device();
    execution_ = options.context->execution();
  }

  std::string version() const override { return "exactile " + std::string(exactile::version()); }
  void set_threads(int threads) override { options_.threads = threads; }

  std::unique_ptr<Call> prepare(const Product& p) const override {
    GemmOptions options = options_;
    if (!ours_.promises_least) {
      options.accuracy = p.accuracy;
      options.reproducible = p.reproducible;
    }
    Result<Plan> plan = Plan::make(description_of(p), options);
    const StatusCode code = plan.status().code();
    if (code == StatusCode::unsupported || code == StatusCode::not_yet_available) return nullptr;
    if (!plan.ok()) fail(plan.status());
    if (ours_.prepared_a || ours_.prepared_b)
      return std::make_unique<PreparedCall>(std::move(plan).value(), ours_, execution_);
    return std::make_unique<PlannedCall>(std::move(plan).value(), execution_);
  }

 private:
  OurOptions ours_;
  GemmOptions options_;
  Execution execution_;
};

}  // namespace

GemmDescription description_of(const Product& p) {
  return {.types = p.types(),
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .a = layout_of(p.a, p.batch),
          .b = layout_of(p.b, p.batch),
          .c = layout_of(p.c, p.batch),
          .batch_count = p.batch};
}

std::unique_ptr<Contender> make_exactile(OurOptions options) { return std::make_unique<Exactile>(std::move(options)); }

}  // namespace exactile::comparison
