// SPDX-License-Identifier: Apache-2.0
#include "comparison/comparison.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "comparison/ours.hpp"
#include "comparison/timed.hpp"
#include "measure/stopwatch.hpp"

namespace exactile::comparison {
namespace {

/// How much of the exact result is formed: some hundredths of a second of comparing.
constexpr double comparison_work = 1e7;

/// Rivals know no accuracy that promises more than the plain loop does.
Accuracy checked_as(Accuracy accuracy) { return accuracy == Accuracy::reduced ? accuracy : Accuracy::standard; }

/// Seconds of one call by the host's clock, after which its result was checked. Of a call that took longer than
/// `longest` those of a second one: a first one may compile.
double try_once(Call& call, const Product& product, OperandSets& sets, double longest, ContenderResult& result) {
  call.meet(sets.at(0), sets.strides(), sets.count());
  const auto once = [&] {
    sets.poison();
    return measure::seconds_of([&] {
      call.run(sets.at(0), {}, 1);
      (void)sets.fetch();
    });
  };
  double seconds = once();
  if (seconds > longest) seconds = once();
  const Operands at = sets.fetch();
  const verification::ErrorReport report =
      verification::compare(description_of(product), {.a = at.a, .b = at.b, .c = at.c}, nullptr,
                            checked_as(product.accuracy), comparison_work);
  result.error = report.passed ? std::string() : "its result is wrong: " + report.failure;
  result.norm_error = report.norm_error;
  return seconds;
}

/// Whether it is to be timed. A rival that fails says why in its result.
bool enters(const Contender& contender, const Product& product, OperandSets& sets, const ComparisonLimits& limits,
            bool is_first, std::unique_ptr<Call>& call, ContenderResult& result) try {
  call = contender.prepare(product);
  if (call == nullptr) return false;
  result.kernel = call->kernel();
  const double seconds = try_once(*call, product, sets, limits.longest_call_seconds, result);
  result.ran = is_first || seconds <= limits.longest_call_seconds;
  return result.ran && result.error.empty();
} catch (const std::runtime_error& error) {
  if (is_first) throw;
  result.error = error.what();
  return false;
}

}  // namespace

ComparisonResult compare(const std::vector<NamedContender>& contenders, const Product& product,
                         const ComparisonLimits& limits, const Context* context) {
  OperandSets sets(product, set_count(product, context, limits.rotates), context);
  ComparisonResult outcome;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::size_t> owners;  // of the series
  for (const NamedContender& contender : contenders) {
    ContenderResult& result = outcome.results.emplace_back(ContenderResult{.name = contender.name});
    std::unique_ptr<Call>& call = calls.emplace_back();
    if (enters(*contender.contender, product, sets, limits, calls.size() == 1, call, result))
      owners.push_back(calls.size() - 1);
  }
  if (owners.empty()) return outcome;
  std::vector<measure::Series> all_series;
  for (const std::size_t owner : owners) {
    const auto place = static_cast<std::int64_t>(all_series.size());
    all_series.push_back(
        series_of(*calls[owner], sets, sets.count() * place / static_cast<std::int64_t>(owners.size())));
  }
  measure::RoundLimits timed = limits;
  timed.shortest_group_seconds = shortest_group_seconds(context, limits.seconds);
  time_rounds(all_series, timed);
  outcome.rounds = static_cast<int>(all_series.front().forward.size() + all_series.front().backward.size());
  for (std::size_t i = 0; i < all_series.size(); ++i) {
    ContenderResult& result = outcome.results[owners[i]];
    result.seconds = summarize(all_series[i]);
    if (owners.front() == 0) result.ratio = ratio_of(all_series[i], all_series.front());
  }
  return outcome;
}

}  // namespace exactile::comparison
