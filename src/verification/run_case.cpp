// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exactile/devices.hpp"
#include "verification/compare.hpp"
#include "verification/device_image.hpp"
#include "verification/guarded_operand.hpp"
#include "verification/verification.hpp"

namespace exactile::verification {
namespace {

/// The operands of one case; none but those it needs are filled.
struct Operands {
  std::unique_ptr<GuardedOperand> a, b, c, bias, row_scales, column_scales;

  [[nodiscard]] std::array<GuardedOperand*, 6> all() const {
    return {a.get(), b.get(), c.get(), bias.get(), row_scales.get(), column_scales.get()};
  }
};

constexpr std::size_t output = 2;  ///< which of all() is C

std::int64_t bias_length(const GemmDescription& d) {
  if (d.bias == Bias::none) return 0;
  return d.bias == Bias::per_row ? d.m : d.n;
}

/// Of a vector of so many elements.
OperandLayout line(std::int64_t length) { return {.row_stride = length}; }

Status make_operands(const Case& test, Operands& operands) {
  const GemmDescription& d = test.description;
  // Half of the seeds put the end of each operand against the forbidden page, half its beginning.
  const auto flush = test.seed % 2 == 0 ? GuardedOperand::Flush::begin : GuardedOperand::Flush::end;
  const auto make = [&](std::unique_ptr<GuardedOperand>& target, ElementType type, std::int64_t rows,
                        std::int64_t columns, const OperandLayout& layout, std::int64_t count) {
    Result<std::unique_ptr<GuardedOperand>> made = GuardedOperand::make(type, rows, columns, layout, count, flush);
    if (!made.ok()) return made.status();
    target = std::move(made).value();
    return Status();
  };
  if (Status s = make(operands.a, d.types.input, d.m, d.k, d.a, d.batch_count); !s.ok()) return s;
  if (Status s = make(operands.b, d.types.input_b, d.k, d.n, d.b, d.batch_count); !s.ok()) return s;
  if (Status s = make(operands.c, d.types.output, d.m, d.n, d.c, d.batch_count); !s.ok()) return s;
  const auto make_line = [&](std::unique_ptr<GuardedOperand>& target, ElementType type, std::int64_t length) {
    return make(target, type, 1, length, line(length), 1);
  };
  const ElementType sum = accumulator_type(d.types);
  if (Status s = make_line(operands.bias, d.types.output, bias_length(d)); !s.ok()) return s;
  if (Status s = make_line(operands.row_scales, sum, d.row_scales ? d.m : 0); !s.ok()) return s;
  return make_line(operands.column_scales, sum, d.column_scales ? d.n : 0);
}

/// Sums already use up the range that wide_range leaves, and what cancels among them is not theirs to say.
Fill fill_of_scales(Fill fill) { return fill == Fill::wide_range || fill == Fill::cancelling ? Fill::normal : fill; }

/// With alpha zero A, B and the scales keep the pattern, which is NaN, with k zero the scales; with beta zero C does.
void fill_operands(const Case& test, const Operands& operands) {
  const GemmDescription& d = test.description;
  if (!test.alpha.is_zero()) {
    fill(test.fill, test.seed, d.types.input, d.m, d.k, d.a, d.batch_count, operands.a->argument(), Part::a);
    fill(test.fill, test.seed, d.types.input_b, d.k, d.n, d.b, d.batch_count, operands.b->argument(), Part::b);
  }
  if (!test.alpha.is_zero() && d.k != 0) {
    const auto fill_scales = [&](GuardedOperand& scales, std::int64_t length, std::uint64_t seed, Part part) {
      fill(fill_of_scales(test.fill), seed, accumulator_type(d.types), 1, length, line(length), 1, scales.argument(),
           part);
    };
    if (d.row_scales) fill_scales(*operands.row_scales, d.m, ~test.seed, Part::a);
    if (d.column_scales) fill_scales(*operands.column_scales, d.n, ~test.seed, Part::b);
  }
  if (!test.beta.is_zero())
    fill(test.fill, test.seed, d.types.output, d.m, d.n, d.c, d.batch_count, operands.c->argument(), Part::c);
  const std::int64_t length = bias_length(d);
  fill(test.fill, ~test.seed, d.types.output, 1, length, line(length), 1, operands.bias->argument(), Part::c);
}

/// `all`: what GemmArguments takes for each of Operands::all().
GemmArguments arguments_of(const Case& test, std::span<void* const> all) {
  const GemmDescription& d = test.description;
  return {.a = all[0],
          .b = all[1],
          .c = all[output],
          .alpha = test.alpha,
          .beta = test.beta,
          .bias = d.bias == Bias::none ? nullptr : all[3],
          .row_scales = d.row_scales ? all[4] : nullptr,
          .column_scales = d.column_scales ? all[5] : nullptr};
}

GemmArguments arguments_of(const Case& test, const Operands& operands) {
  std::array<void*, 6> arguments{};
  std::ranges::transform(operands.all(), arguments.begin(),
                         [](GuardedOperand* operand) { return operand->argument(); });
  return arguments_of(test, arguments);
}

/// The backend asked for, or that of the kernel asked for.
Backend backend_of(const GemmOptions& options) {
  if (options.backend != Backend::automatic) return options.backend;
  for (const KernelInfo& kernel : kernels())
    if (kernel.name == options.kernel) return kernel.backend;
  return Backend::automatic;
}

/// A device's context, and memory that one case after another has its operands in.
struct Opened {
  explicit Opened(Context opened) : context(std::move(opened)) {}
  Context context;
  std::mutex mutex;  ///< of the memory
  std::optional<DeviceMemory> memory;
};

/// One a backend and device for the whole process: opening a context takes longer than most cases.
Result<Opened*> opened_for(const GemmOptions& options) {
  static std::mutex mutex;
  // Never destroyed: when static objects go, a driver's own may be gone already.
  static auto& all = *new std::map<std::pair<Backend, int>, Opened>;
  const std::lock_guard lock(mutex);
  const std::pair key(backend_of(options), options.device);
  if (const auto found = all.find(key); found != all.end()) return &found->second;
  Result<Context> made = Context::make(key.first, key.second);
  if (!made.ok()) return made.status();
  return &all.try_emplace(key, std::move(made).value()).first->second;
}

/// Moves the operands to the device, runs, and moves all of them back: a write to an input shows too.
Status run_on_device(const Case& test, const Plan& plan, const Operands& operands, Placement placement) {
  const Result<Opened*> opened = opened_for(test.options);
  if (!opened.ok()) return opened.status();
  auto& [context, mutex, kept] = *opened.value();
  const std::array<GuardedOperand*, 6> all = operands.all();
  const bool is_apart = placement == Placement::apart;
  constexpr std::int64_t margin = 4096;
  std::unique_lock<std::mutex> lock;
  if (!is_apart) lock = std::unique_lock(mutex);
  std::vector<DeviceImage> images;
  std::vector<void*> moved;
  const std::size_t in_each = is_apart ? 1 : all.size();
  for (std::size_t i = 0; i < all.size(); i += in_each) {
    Result<DeviceImage> image =
        DeviceImage::make(context, std::span(all).subspan(i, in_each),
                          is_apart ? std::nullopt : std::exchange(kept, std::nullopt), is_apart ? 0 : margin);
    if (!image.ok()) return image.status();
    images.push_back(std::move(image).value());
    std::ranges::copy(images.back().arguments(), std::back_inserter(moved));
  }
  if (Status s = plan.run(arguments_of(test, moved), context.execution()); !s.ok()) return s;
  for (DeviceImage& image : images)
    if (Status s = image.download(); !s.ok()) return s;
  if (!is_apart) kept = std::move(images.front()).memory();
  return {};
}

void fail(ErrorReport& report, std::string sentence) {
  if (report.passed) report.failure = std::move(sentence);
  report.passed = false;
  report.error_over_bound = std::numeric_limits<double>::infinity();
}

}  // namespace

Result<ErrorReport> run_case(const Case& test, Placement placement) {
  const GemmDescription& d = test.description;
  const Result<Plan> plan = Plan::make(d, test.options);
  if (!plan.ok()) return plan.status();
  Operands operands;
  if (Status s = make_operands(test, operands); !s.ok()) return s;
  fill_operands(test, operands);
  operands.c->take_snapshot();
  std::array<std::uint64_t, 6> digests{};
  std::ranges::transform(operands.all(), digests.begin(), [](const auto* operand) { return operand->digest(); });

  const GemmArguments arguments = arguments_of(test, operands);
  const Status ran = test.options.memory == Memory::device ? run_on_device(test, plan.value(), operands, placement)
                                                           : plan.value().run(arguments);
  if (!ran.ok()) return ran;

  constexpr double work_limit = 1e8;
  const Accuracy accuracy = test.options.accuracy;
  ErrorReport report =
      compare_rows(d, arguments, operands.c->before(), accuracy, work_limit, test.fill == Fill::small_integers);
  merge(report, residual(d, arguments, operands.c->before(), test.seed, accuracy));
  if (operands.c->surroundings_changed()) fail(report, "the product wrote outside the elements of C");
  constexpr std::array names{"A", "B", "C", "the bias", "the row scales", "the column scales"};
  for (std::size_t t = 0; t < names.size(); ++t)
    if (t != output && operands.all()[t]->digest() != digests[t])
      fail(report, std::string("the product wrote to ") + names[t]);
  return report;
}

}  // namespace exactile::verification
