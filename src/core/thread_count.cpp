// SPDX-License-Identifier: Apache-2.0
#include "core/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

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

/// Processors that a group may keep busy, as the files in its folder say.
using QuotaOf = double (*)(const std::string& folder);

/// cpu.max holds "quota period" or "max period".
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

/// A quota set on any ancestor holds for the group too. Folders that are not there are passed over: a container may see
/// its own group as the root.
double least_quota(const std::string& hierarchy, std::string group, QuotaOf quota_of) {
  double least = quota_of(hierarchy);
  while (group.size() > 1) {
    least = std::min(least, quota_of(hierarchy + group));
    group.resize(group.find_last_of('/'));
  }
  return least;
}

/// Lines of /proc/self/cgroup are "number:controllers:group"; version 2 has one hierarchy, number 0, for all
/// controllers.
double cgroup_quota() {
  std::ifstream groups("/proc/self/cgroup");
  double least = no_quota;
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos || line[second + 1] != '/') continue;
    std::string controllers = line.substr(first, second - first + 1);
    controllers.front() = controllers.back() = ',';
    const std::string group = line.substr(second + 1);
    if (line.starts_with("0::")) least = std::min(least, least_quota("/sys/fs/cgroup", group, quota_v2));
    if (controllers.find(",cpu,") != std::string::npos)
      least = std::min(least, least_quota("/sys/fs/cgroup/cpu", group, quota_v1));
  }
  return least;
}

}  // namespace

int usable_processors() {
  static const int count = [] {
    const int allowed = affinity_count();
    double quota = no_quota;
    try {
      quota = cgroup_quota();
    } catch (const std::exception&) {  // an unreadable quota is no quota
    }
    if (quota >= allowed) return allowed;
    return std::max(1, static_cast<int>(std::ceil(quota)));
  }();
  return count;
}

int thread_count(int requested) {
  if (requested > 0) return requested;
  if (const auto own = environment_count("EXACTILE_NUM_THREADS")) return *own;
  if (const auto omp = environment_count("OMP_NUM_THREADS")) return *omp;
  return usable_processors();
}

}  // namespace exactile::core
