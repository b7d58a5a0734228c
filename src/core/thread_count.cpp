// SPDX-License-Identifier: Apache-2.0
#include "core/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include "core/control_groups.hpp"
#include "core/environment.hpp"
#include "core/file.hpp"

namespace exactile::core {
namespace {

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

constexpr double no_quota = std::numeric_limits<double>::infinity();

/// Processors that a group may keep busy, as a file in its folder says: cpu.max holds "quota period" or "max period".
double quota_v2(const std::string& folder) {
  const auto text = content_of_file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  return text && std::sscanf(text->c_str(), "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : no_quota;
}

double quota_v1(const std::string& folder) {
  const auto number_in = [&](const char* file) {
    return std::atof(content_of_file(folder + file).value_or(std::string()).c_str());
  };
  const double quota = number_in("/cpu.cfs_quota_us");
  const double period = number_in("/cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : no_quota;
}

}  // namespace

int usable_processors() {
  static const int count = [] {
    const int allowed = affinity_count();
    double quota = no_quota;
    try {
      quota = least_group_limit("cpu", quota_v2, quota_v1);
    } catch (const std::exception&) {  // an unreadable quota is no quota
    }
    if (quota >= allowed) return allowed;
    return std::max(1, static_cast<int>(std::ceil(quota)));
  }();
  return count;
}

int thread_count(int requested) {
  if (requested > 0) return requested;
  if (const auto own = environment_count("EXACTILE_NUM_THREADS", most_threads)) return *own;
  if (const auto omp = environment_count("OMP_NUM_THREADS", most_threads)) return *omp;
  return usable_processors();
}

}  // namespace exactile::core
