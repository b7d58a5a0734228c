// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything a user may include, in one header.
#pragma once

#include "exactile/accuracy.hpp"
#include "exactile/backend.hpp"
#include "exactile/context.hpp"
#include "exactile/devices.hpp"
#include "exactile/epilogue.hpp"
#include "exactile/error_bound.hpp"
#include "exactile/gemm.hpp"
#include "exactile/grouped.hpp"
#include "exactile/matrix_view.hpp"
#include "exactile/plan.hpp"
#include "exactile/settings.hpp"
#include "exactile/status.hpp"
#include "exactile/tuning.hpp"
#include "exactile/types.hpp"
