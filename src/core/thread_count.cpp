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

/// cpu.max holds "quota period" or "max period" in cgroup v2; this process's group is named in /proc/self/cgroup.
double quota_v2() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  std::string group;
  while (std::getline(groups, line))
    if (line.starts_with("0::")) group = line.substr(3);
  double least = std::numeric_limits<double>::infinity();
  // A quota set on any ancestor holds for this process too.
  for (std::string path = group; !path.empty();) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    std::string quota;
    double period = 0;
    if (file >> quota >> period && quota != "max" && period > 0) least = std::min(least, std::stod(quota) / period);
    const auto slash = path.find_last_of('/');
    path = path == "/" || slash == std::string::npos ? "" : (slash == 0 ? "/" : path.substr(0, slash));
  }
  return least;
}

double quota_v1() {
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = -1;
  double period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::numeric_limits<double>::infinity();
}

}  // namespace

int usable_processors() {
  static const int count = [] {
    const int allowed = affinity_count();
    double quota = std::numeric_limits<double>::infinity();
    try {
      quota = std::min(quota_v2(), quota_v1());
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
