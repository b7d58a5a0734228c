// SPDX-License-Identifier: Apache-2.0
#include "contest.hpp"

#include <utility>

#include "oracle.hpp"

namespace exactile::bench {
namespace {

/// A call, the operands it is timed on, and where its result goes.
struct Place {
  std::unique_ptr<Call> call;
  const Product* product = nullptr;
  OperandSets* sets = nullptr;
};

void try_once(const Place& place, Score& score) {
  place.call->meet(place.sets->at(0), place.sets->strides(), place.sets->count());
  place.sets->poison();
  place.call->run(place.sets->at(0), {}, 1);
  Judgement judgement = judge(*place.product, place.sets->fetch());
  score.error = std::move(judgement.error);
  score.over_bound = judgement.over_bound;
  score.relative_error = judgement.relative_error;
  score.norm_error = judgement.norm_error;
}

double ratio_of_medians(const std::vector<double>& base, const std::vector<double>& other) {
  if (base.empty() || other.empty()) return 0;
  return summarize(other).median_seconds / summarize(base).median_seconds;
}

void compare(Score& score, const Lane& lane, const Lane& base, double operations) {
  score.time = summarize(lane);
  score.gflops = operations / score.time.median_seconds * 1e-9;
  score.ratio = score.time.median_seconds / summarize(base).median_seconds;
  score.ratio_first_entrant_first = ratio_of_medians(base.forward, lane.forward);
  score.ratio_first_entrant_last = ratio_of_medians(base.backward, lane.backward);
}

/// Fills in `scores`, which hold the names; scores and places correspond.
void run_contest(std::vector<Score>& scores, const std::vector<Place>& places, const RoundLimits& limits) {
  std::vector<Lane> lanes;
  std::vector<std::size_t> lane_owner;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].call == nullptr) continue;
    scores[i].ran = true;
    try_once(places[i], scores[i]);
    if (!scores[i].error.empty()) continue;
    lanes.push_back({places[i].call.get(), places[i].sets, {}, {}});
    lane_owner.push_back(i);
  }
  if (lanes.empty()) return;
  time_rounds(lanes, limits);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const std::size_t owner = lane_owner[lane];
    compare(scores[owner], lanes[lane], lanes.front(), places[owner].product->operations());
  }
  // Ratios to an entrant that did not run mean nothing.
  if (lane_owner.front() != 0)
    for (Score& score : scores) score.ratio = score.ratio_first_entrant_first = score.ratio_first_entrant_last = 0;
}

}  // namespace

std::vector<Score> hold_contest(const std::vector<Entrant>& entrants, const Product& product, const RoundLimits& limits,
                                const Context* context, Fill fill) {
  OperandSets sets(product, set_count(product, context), context, fill);
  std::vector<Score> scores;
  std::vector<Place> places;
  for (const Entrant& entrant : entrants) {
    scores.push_back({.name = entrant.name});
    places.push_back({entrant.contender->prepare(product), &product, &sets});
  }
  run_contest(scores, places, limits);
  return scores;
}

std::vector<Score> compare_layouts(const Contender& contender, const std::vector<Variant>& variants,
                                   const RoundLimits& limits, const Context* context, Fill fill) {
  std::vector<std::unique_ptr<OperandSets>> sets;
  std::vector<Score> scores;
  std::vector<Place> places;
  for (const Variant& variant : variants) {
    sets.push_back(std::make_unique<OperandSets>(variant.product, set_count(variant.product, context), context, fill));
    scores.push_back({.name = variant.name});
    places.push_back({contender.prepare(variant.product), &variant.product, sets.back().get()});
  }
  run_contest(scores, places, limits);
  return scores;
}

std::vector<Variant> layouts_of(const Product& plain) {
  constexpr std::int64_t padding = 24;  // moves rows off the powers of two that fall into one set of a cache
  const Layout a_transposed{.rows = plain.k, .leading = plain.m, .transposed = true};
  const Layout b_transposed{.rows = plain.n, .leading = plain.k, .transposed = true};
  const auto padded = [](Layout layout) {
    layout.leading += padding;
    return layout;
  };
  const auto every_second = [](Layout layout) {
    layout.leading *= 2;
    layout.step = 2;
    return layout;
  };
  const auto with = [&plain](const Layout& a, const Layout& b, const Layout& c) {
    Product product = plain;
    product.a = a;
    product.b = b;
    product.c = c;
    return product;
  };
  return {{"plain", plain},
          {"A^T", with(a_transposed, plain.b, plain.c)},
          {"B^T", with(plain.a, b_transposed, plain.c)},
          {"A^T B^T", with(a_transposed, b_transposed, plain.c)},
          {"padded", with(padded(plain.a), padded(plain.b), padded(plain.c))},
          {"padded A^T B^T", with(padded(a_transposed), padded(b_transposed), padded(plain.c))},
          {"A every second", with(every_second(plain.a), plain.b, plain.c)},
          {"B every second", with(plain.a, every_second(plain.b), plain.c)}};
}

}  // namespace exactile::bench
