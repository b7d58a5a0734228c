// SPDX-License-Identifier: Apache-2.0
/// \file The parts of the report's page (report/), and the plotting library whose script it inlines.
#pragma once

#include <string_view>

namespace exactile::program {

extern const std::string_view page_html;  ///< @name@ stands for the part of that name
extern const std::string_view page_css;
extern const std::string_view model_js;
extern const std::string_view charts_js;
extern const std::string_view table_js;
extern const std::string_view page_js;

/// plotly.min.js as the package from PyPI has it; empty in a build that found none.
[[nodiscard]] std::string_view plotly_script();

}  // namespace exactile::program
