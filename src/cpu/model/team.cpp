// SPDX-License-Identifier: Apache-2.0
#include "cpu/model/team.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/team.hpp"
#include "cpu/model/rows.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view family = "team";
constexpr int version = 1;  ///< rises whenever the same numbers mean another time
constexpr double unit = 1e-15;

/// Names of a row's numbers, and what they are.
template <class Times, class Visit>
void for_each_number(Times& times, const Visit& visit) {
  visit("start", times.start.of_two);
  visit("start_more", times.start.of_more);
  visit("wake", times.wake.of_two);
  visit("wake_more", times.wake.of_more);
  visit("meeting", times.meeting.of_two);
  visit("meeting_more", times.meeting.of_more);
}

tuning::Key row_key(std::string device) {
  return {.kernel = std::string(family),
          .version = version,
          .types = "any",
          .shape_class = "any",
          .device = std::move(device),
          .driver = "any"};
}

TeamTimes known_times() {
  const tuning::Key here = row_key(device_of_rates());
  const tuning::Query query{.kernel = here.kernel,
                            .version = version,
                            .types = {"any"},
                            .shape_class = "any",
                            .devices = {here.device, "any:cpu"},
                            .driver = "any"};
  const auto found = tuning::find(query, [](const tuning::Parameters& p) {
    return std::ranges::all_of(p.values(), [](const auto& value) { return value.second >= 0; });
  });
  TeamTimes times;
  if (found)
    for_each_number(times, [&](std::string_view name, double& seconds) {
      seconds = unit * static_cast<double>(found->parameters.get(name));
    });
  return times;
}

/// The median time of such a team, each after a pause.
template <class Body>
double median_time(int threads, int teams, std::chrono::microseconds pause, const Body& body) {
  std::vector<double> seconds;
  for (int i = 0; i < teams; ++i) {
    const auto resumes = Clock::now() + pause;
    while (Clock::now() < resumes) {
    }
    const auto begin = Clock::now();
    core::run_team(threads, body);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + teams / 2);
  return seconds[static_cast<std::size_t>(teams / 2)];
}

struct OneTeam {
  double start, wake, meeting;
};

OneTeam measure_one(int threads) {
  constexpr std::chrono::microseconds none{0}, until_they_sleep{1000};
  constexpr int many = 2000, few = 100, meetings = 8;
  const auto nothing = [](const core::Member&) {};
  const auto meet = [](const core::Member& member) {
    for (int i = 0; i < meetings; ++i) member.meet();
  };
  const double start = median_time(threads, many, none, nothing);
  const double with_meetings = median_time(threads, many, none, meet);
  return {start, median_time(threads, few, until_they_sleep, nothing), std::max(0.0, with_meetings - start) / meetings};
}

/// Never destroyed, as products that are planned meanwhile read them; what came before stays known, so that it is no
/// leak.
struct Measured {
  TeamTimes times;
  const Measured* before = nullptr;
};
std::atomic<const Measured*> latest{nullptr};

}  // namespace

const TeamTimes& team_times() {
  if (const Measured* const measured = latest.load(std::memory_order_acquire)) return measured->times;
  static const TeamTimes known = known_times();
  return known;
}

tuning::Row measure_team(int threads) {
  TeamTimes times = team_times();  // what two threads do not show stays as it was
  const OneTeam two = measure_one(2);
  const auto set = [&](TimeOfTeam& time, double OneTeam::*of, const OneTeam& all) {
    time.of_two = two.*of;
    if (threads > 2) time.of_more = std::max(0.0, all.*of - two.*of) / (threads - 2);
  };
  const OneTeam all = threads > 2 ? measure_one(threads) : two;
  set(times.start, &OneTeam::start, all);
  set(times.wake, &OneTeam::wake, all);
  set(times.meeting, &OneTeam::meeting, all);
  latest.store(new Measured{times, latest.load(std::memory_order_acquire)}, std::memory_order_release);
  tuning::Row row{.key = row_key(device_of_rates()), .parameters = {}, .rate = 1};
  for_each_number(times, [&](std::string_view name, const double& seconds) {
    row.parameters.set(name, std::llround(seconds / unit));
  });
  return row;
}

int useful_threads(double cycles, std::int64_t parts, int most) {
  constexpr double cycles_per_second = 4e9;
  struct Team {
    int threads;
    double seconds;
  };
  const auto estimate = [&](int threads) {
    const int some = members(parts, threads);
    return Team{some, cycles / cycles_per_second / some * unevenness(parts, some) + team_times().start(some)};
  };
  return best_team(most, estimate).threads;
}

}  // namespace exactile::cpu
