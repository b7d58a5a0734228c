// SPDX-License-Identifier: Apache-2.0
#include "report_page.hpp"

// EXACTILE_PLOTLY is the path of the script, where the build found it. The assembler takes it as it is: as a literal it
// would cost the compiler a minute.
#ifdef EXACTILE_PLOTLY
asm(".section .rodata\n"
    "exactile_plotly_begin: .incbin \"" EXACTILE_PLOTLY
    "\"\n"
    "exactile_plotly_end:\n"
    ".previous\n");

extern "C" {
extern const char exactile_plotly_begin[];
extern const char exactile_plotly_end[];
}
#endif

namespace exactile::program {

std::string_view plotly_script() {
#ifdef EXACTILE_PLOTLY
  return {exactile_plotly_begin, static_cast<std::size_t>(exactile_plotly_end - exactile_plotly_begin)};
#else
  return {};
#endif
}

}  // namespace exactile::program
