// SPDX-License-Identifier: Apache-2.0
#include "place.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "exactile/context.hpp"

namespace exactile::program {
namespace {

/// Seconds by the host's clock.
template <class Work>
Result<double> stopwatch(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  if (Status s = work(); !s.ok()) return s;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class HostPlace final : public Place {
 public:
  explicit HostPlace(Operands& operands) : operands_(operands) {}

  [[nodiscard]] Status poison_output() override {
    operands_.poison_output();
    return {};
  }
  [[nodiscard]] Result<double> run_once(const Plan& plan) override {
    return stopwatch([&] { return plan.run(arguments(0)); });
  }
  [[nodiscard]] Result<measure::Timing> time(const Plan& plan, const measure::TimingLimits& limits) override {
    Status status;
    const measure::Timing timing =
        measure::time_calls([&](std::int64_t i) { return (status = plan.run(arguments(i))).ok(); }, limits);
    if (!status.ok()) return status;
    return timing;
  }
  [[nodiscard]] Status prepare(const Plan& plan, PreparedInputs inputs) override {
    return prepared_.make(plan, inputs, operands_.copies(), {}, [&](auto i) { return operands_.arguments(i); });
  }
  [[nodiscard]] Result<std::vector<std::uint64_t>> path_counts(const Plan&) override {
    return std::vector<std::uint64_t>();
  }
  [[nodiscard]] Result<std::optional<double>> seconds_with_copies(const Plan&) override {
    return std::optional<double>();
  }
  [[nodiscard]] Status fetch_output() override { return {}; }

 private:
  [[nodiscard]] GemmArguments arguments(std::int64_t index) const {
    return prepared_.in(operands_.arguments(index), index);
  }

  Operands& operands_;
  PreparedCopies prepared_;
};

class DevicePlace final : public Place {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Place>> make(const Context& context, Operands& operands) {
    std::vector<DeviceMemory> memories;
    for (const Mapping* image : {&operands.a(), &operands.b(), &operands.c()}) {
      Result<DeviceMemory> memory = context.allocate(image->size());
      if (!memory.ok()) return memory.status();
      memories.push_back(std::move(memory).value());
    }
    std::unique_ptr<DevicePlace> place(new DevicePlace(context, operands, std::move(memories)));
    if (Status s = place->upload_inputs(operands.a().size(), operands.b().size()); !s.ok()) return s;
    return std::unique_ptr<Place>(std::move(place));
  }

  [[nodiscard]] Status poison_output() override { return memories_[2].fill_bytes(0xff); }
  [[nodiscard]] Result<double> run_once(const Plan& plan) override {
    return stopwatch([&] { return run_and_wait(plan); });
  }
  [[nodiscard]] Result<measure::Timing> time(const Plan& plan, const measure::TimingLimits& limits) override {
    measure::TimingLimits grouped = limits;
    // The device starts and ends a measurement within some microseconds.
    grouped.shortest_group_seconds = 1e-3;
    Status status;
    const measure::Timing timing = measure::time_groups(
        [&](std::int64_t first, std::int64_t count) -> std::optional<double> {
          const Result<double> seconds = context_.time([&] {
            for (std::int64_t i = first; i < first + count; ++i)
              if (Status s = plan.run(prepared_.in(arguments(i), i), context_.execution()); !s.ok()) return s;
            return Status();
          });
          if (seconds.ok()) return seconds.value();
          status = seconds.status();
          return std::nullopt;
        },
        grouped);
    if (!status.ok()) return status;
    return timing;
  }
  [[nodiscard]] Status prepare(const Plan& plan, PreparedInputs inputs) override {
    return prepared_.make(plan, inputs, operands_.copies(), context_.execution(), [&](auto i) { return arguments(i); });
  }
  [[nodiscard]] Result<std::vector<std::uint64_t>> path_counts(const Plan& plan) override {
    std::vector<std::uint64_t> counts(plan.summary().paths.size());
    if (counts.empty()) return counts;
    const auto bytes = static_cast<std::int64_t>(counts.size() * sizeof(std::uint64_t));
    Result<DeviceMemory> memory = context_.allocate(bytes);
    if (!memory.ok()) return memory.status();
    if (Status s = memory.value().fill_bytes(0); !s.ok()) return s;
    Execution execution = context_.execution();
    execution.path_counts = memory.value().at();
    if (Status s = plan.run(prepared_.in(arguments(0), 0), execution); !s.ok()) return s;
    if (Status s = memory.value().download(counts.data(), bytes); !s.ok()) return s;
    return counts;
  }
  [[nodiscard]] Result<std::optional<double>> seconds_with_copies(const Plan& plan) override {
    constexpr std::size_t attempts = 3;
    constexpr double long_enough = 0.25;
    std::vector<double> seconds;
    while (seconds.size() < attempts && (seconds.empty() || seconds.back() < long_enough)) {
      const Result<double> once = stopwatch([&] {
        if (Status s =
                upload_inputs(operands_.a().size() / operands_.copies(), operands_.b().size() / operands_.copies());
            !s.ok())
          return s;
        if (Status s = run_and_wait(plan); !s.ok()) return s;
        return fetch_output();
      });
      if (!once.ok()) return once.status();
      seconds.push_back(once.value());
    }
    std::sort(seconds.begin(), seconds.end());
    return std::optional(seconds[seconds.size() / 2]);
  }
  [[nodiscard]] Status fetch_output() override {
    return memories_[2].download(operands_.c().data(), operands_.c().size() / operands_.copies());
  }

 private:
  DevicePlace(const Context& context, Operands& operands, std::vector<DeviceMemory> memories)
      : context_(context), operands_(operands), memories_(std::move(memories)) {}

  [[nodiscard]] GemmArguments arguments(std::int64_t index) const {
    const Operands::Offsets at = operands_.offsets(index);
    return {.a = memories_[0].at(at.a), .b = memories_[1].at(at.b), .c = memories_[2].at(at.c)};
  }
  [[nodiscard]] Status upload_inputs(std::int64_t a_bytes, std::int64_t b_bytes) {
    if (Status s = memories_[0].upload(operands_.a().data(), a_bytes); !s.ok()) return s;
    return memories_[1].upload(operands_.b().data(), b_bytes);
  }
  [[nodiscard]] Status run_and_wait(const Plan& plan) {
    if (Status s = plan.run(prepared_.in(arguments(0), 0), context_.execution()); !s.ok()) return s;
    return context_.synchronize();
  }

  Context context_;
  Operands& operands_;
  std::vector<DeviceMemory> memories_;
  PreparedCopies prepared_;
};

}  // namespace

Status PreparedCopies::make(const Plan& plan, PreparedInputs inputs, std::int64_t copies, const Execution& execution,
                            const std::function<GemmArguments(std::int64_t)>& arguments) {
  for (std::int64_t i = 0; i < copies; ++i)
    for (const Operand operand : {Operand::a, Operand::b}) {
      const bool is_a = operand == Operand::a;
      if (!(is_a ? inputs.a : inputs.b)) continue;
      Result<PreparedOperand> made = plan.prepare(operand, is_a ? arguments(i).a : arguments(i).b, execution);
      if (!made.ok()) return made.status();
      (is_a ? a_ : b_).push_back(std::move(made).value());
    }
  return {};
}

GemmArguments PreparedCopies::in(GemmArguments arguments, std::int64_t index) const {
  if (!a_.empty()) {
    arguments.a = nullptr;
    arguments.prepared_a = &a_[static_cast<std::size_t>(index) % a_.size()];
  }
  if (!b_.empty()) {
    arguments.b = nullptr;
    arguments.prepared_b = &b_[static_cast<std::size_t>(index) % b_.size()];
  }
  return arguments;
}

Result<std::unique_ptr<Place>> make_place(const GemmOptions& options, Operands& operands) {
  if (options.memory == Memory::host) return std::unique_ptr<Place>(std::make_unique<HostPlace>(operands));
  const Result<Context> context = Context::make(options.backend, options.device);
  if (!context.ok()) return context.status();
  return DevicePlace::make(context.value(), operands);
}

}  // namespace exactile::program
