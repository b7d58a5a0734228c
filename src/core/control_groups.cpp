// SPDX-License-Identifier: Apache-2.0
#include "core/control_groups.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/file.hpp"

namespace exactile::core {
namespace {

/// Folders that are not there are passed over: a container may see its own group as the root.
double least_upwards(const std::string& hierarchy, std::string group, GroupLimit limit_of) {
  double least = limit_of(hierarchy);
  while (group.size() > 1) {
    least = std::min(least, limit_of(hierarchy + group));
    group.resize(group.find_last_of('/'));
  }
  return least;
}

}  // namespace

double least_group_limit(std::string_view controller, GroupLimit of_version_2, GroupLimit of_version_1) {
  const std::string root = "/sys/fs/cgroup";
  const std::string wanted = ',' + std::string(controller) + ',';
  const std::string groups = content_of_file("/proc/self/cgroup").value_or(std::string());
  double least = std::numeric_limits<double>::infinity();
  // Lines are "number:controllers:group"; version 2 has one hierarchy, number 0, for all controllers.
  for (std::string_view left = groups; !left.empty();) {
    const std::string line(next_line(left));
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos || line[second + 1] != '/') continue;
    std::string controllers = line.substr(first, second - first + 1);
    controllers.front() = controllers.back() = ',';
    const std::string group = line.substr(second + 1);
    if (line.starts_with("0::")) least = std::min(least, least_upwards(root, group, of_version_2));
    if (controllers.find(wanted) != std::string::npos)
      least = std::min(least, least_upwards(root + '/' + std::string(controller), group, of_version_1));
  }
  return least;
}

}  // namespace exactile::core
