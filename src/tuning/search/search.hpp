// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which parameters to try next. Knows no kernel and no clock: candidates go out, rates come back.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tuning/table/parameters.hpp"

namespace exactile::tuning {

/// Random candidates first; then neighbours of the best ones (one parameter moved to the next value, or two at once),
/// with a random one now and then, so that no local best is the end.
class Search {
 public:
  using IsLegal = std::function<bool(const Parameters&)>;

  Search(Space space, IsLegal is_legal, std::uint64_t seed);

  /// A candidate to try before all others, such as the one in use today.
  void suggest(const Parameters& parameters);
  /// What is known of a candidate, measured now or in an earlier search; 0 operations per second: it failed. The last
  /// report of a candidate holds.
  void report(const Parameters& parameters, double rate);

  /// A legal candidate that was not reported; nothing where none can be found any more.
  [[nodiscard]] std::optional<Parameters> next();

  /// Those whose rate is at least `share` of the best one's, best first.
  [[nodiscard]] std::vector<Parameters> leaders(std::size_t most, double share) const;
  [[nodiscard]] const Parameters& best() const { return results_.empty() ? none_ : results_.front().parameters; }
  [[nodiscard]] double best_rate() const { return results_.empty() ? 0 : results_.front().rate; }
  [[nodiscard]] int reported() const { return static_cast<int>(known_.size()); }

 private:
  struct Result {
    Parameters parameters;
    double rate;
  };
  [[nodiscard]] bool is_new(const Parameters& parameters) const;
  [[nodiscard]] std::optional<Parameters> random_candidate();
  [[nodiscard]] std::optional<Parameters> neighbour_of(const Parameters& centre, int changes);
  [[nodiscard]] std::size_t pick(std::size_t count);

  Space space_;
  IsLegal is_legal_;
  std::mt19937_64 generator_;
  std::vector<Parameters> suggested_;
  std::vector<Result> results_;  ///< best first
  std::set<std::string> known_;
  int handed_out_ = 0;
  Parameters none_;
};

}  // namespace exactile::tuning
