// SPDX-License-Identifier: Apache-2.0
#include "comparison/timed.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "measure/stopwatch.hpp"

namespace exactile::comparison {
namespace {

class TimedCall {
 public:
  TimedCall(const Call& call, const OperandSets& sets, std::int64_t first_set)
      : call_(&call), sets_(&sets), next_set_(first_set) {}

  double operator()(std::int64_t calls) {
    if (sets_->context() == nullptr) return measure::seconds_of([&] { run(calls); });
    const Result<double> seconds = sets_->context()->time([&] {
      run(calls);
      return Status();
    });
    if (!seconds.ok()) throw std::runtime_error(std::string(seconds.status().message()));
    return seconds.value();
  }

 private:
  void run(std::int64_t calls) {
    const std::int64_t count = sets_->count();
    if (count == 1) return call_->run(sets_->at(0), {}, calls);
    while (calls > 0) {
      const std::int64_t now = std::min(calls, count - next_set_);
      call_->run(sets_->at(next_set_), sets_->strides(), now);
      next_set_ = (next_set_ + now) % count;
      calls -= now;
    }
  }

  const Call* call_;
  const OperandSets* sets_;
  std::int64_t next_set_;
};

}  // namespace

measure::Series series_of(const Call& call, const OperandSets& sets, std::int64_t first_set) {
  return {.time = TimedCall(call, sets, first_set)};
}

double shortest_group_seconds(const Context* context, double seconds) {
  return context == nullptr ? 60e-6 : std::min(10e-3, seconds / 3);
}

}  // namespace exactile::comparison
