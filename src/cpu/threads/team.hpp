// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/team.hpp"

namespace exactile::cpu {

using core::Member;
using core::run_team;

}  // namespace exactile::cpu
