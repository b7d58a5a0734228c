// SPDX-License-Identifier: Apache-2.0
#include "contest/contest.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "contest/ours.hpp"
#include "contest/timed.hpp"
#include "measure/stopwatch.hpp"

namespace exactile::contest {
namespace {

/// How much of the exact result is formed: some tenths of a second of comparing.
constexpr double comparison_work = 5e7;

/// Rivals know no accuracy that promises more than the plain loop does.
Accuracy judged_as(Accuracy accuracy) { return accuracy == Accuracy::reduced ? accuracy : Accuracy::standard; }

/// Seconds of one call by the host's clock, after which its result was checked. Of a call that took longer than
/// `longest` those of a second one: a first one may compile.
double try_once(Call& call, const Product& product, OperandSets& sets, double longest, Score& score) {
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
                            judged_as(product.accuracy), comparison_work);
  score.error = report.passed ? std::string() : "its result is wrong: " + report.failure;
  score.norm_error = report.norm_error;
  return seconds;
}

/// Whether it is to be timed. A rival that fails says why in its score.
bool enters(const Contender& contender, const Product& product, OperandSets& sets, const ContestLimits& limits,
            bool is_first, std::unique_ptr<Call>& call, Score& score) try {
  call = contender.prepare(product);
  if (call == nullptr) return false;
  score.kernel = call->kernel();
  const double seconds = try_once(*call, product, sets, limits.longest_call_seconds, score);
  score.ran = is_first || seconds <= limits.longest_call_seconds;
  return score.ran && score.error.empty();
} catch (const std::runtime_error& error) {
  if (is_first) throw;
  score.error = error.what();
  return false;
}

}  // namespace

Outcome hold_contest(const std::vector<Entrant>& entrants, const Product& product, const ContestLimits& limits,
                     const Context* context, verification::Fill fill) {
  OperandSets sets(product, set_count(product, context, limits.rotates), context, fill);
  Outcome outcome;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::size_t> owners;  // of the lanes
  for (const Entrant& entrant : entrants) {
    Score& score = outcome.scores.emplace_back(Score{.name = entrant.name});
    std::unique_ptr<Call>& call = calls.emplace_back();
    if (enters(*entrant.contender, product, sets, limits, calls.size() == 1, call, score))
      owners.push_back(calls.size() - 1);
  }
  if (owners.empty()) return outcome;
  std::vector<measure::Lane> lanes;
  for (const std::size_t owner : owners) {
    const auto place = static_cast<std::int64_t>(lanes.size());
    lanes.push_back(lane_of(*calls[owner], sets, sets.count() * place / static_cast<std::int64_t>(owners.size())));
  }
  measure::RoundLimits timed = limits;
  timed.shortest_group_seconds = shortest_group_seconds(context);
  time_rounds(lanes, timed);
  outcome.rounds = static_cast<int>(lanes.front().forward.size() + lanes.front().backward.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Score& score = outcome.scores[owners[i]];
    score.seconds = summarize(lanes[i]);
    if (owners.front() == 0) score.ratio = ratio_of(lanes[i], lanes.front());
  }
  return outcome;
}

}  // namespace exactile::contest
