// SPDX-License-Identifier: Apache-2.0
#include "core/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "core/control_groups.hpp"
#include "core/environment.hpp"

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
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  return file >> quota >> period && quota != "max" && period > 0 ? std::stod(quota) / period : no_quota;
}

double quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = -1;
  double period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : no_quota;
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
