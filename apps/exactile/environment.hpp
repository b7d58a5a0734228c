// SPDX-License-Identifier: Apache-2.0
/// \file Settings from the environment that would do nothing.
#pragma once

namespace exactile::program {

/// The library passes over what it does not understand in EXACTILE_MAX_ISA and EXACTILE_NUM_THREADS, without a word;
/// who has mistyped it should know that he measures something else.
void note_ignored_settings();

}  // namespace exactile::program
