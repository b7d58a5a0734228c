# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source file that names the commit of SOURCE: what was measured must be found again. Run at every build;
# the file changes when the commit does. Without git, or outside a repository, the names are empty.
set(git git -c safe.directory=${SOURCE} -C ${SOURCE})
execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
set(edited false)
if(failed)
  set(commit "")
else()
  execute_process(COMMAND ${git} diff-index --quiet HEAD -- RESULT_VARIABLE differs ERROR_QUIET)
  if(differs)
    set(edited true)
  endif()
endif()
set(text "// Made by ExactileCommit.cmake.\n#include \"commit.hpp\"\n\nnamespace exactile::program {\n
const std::string_view commit = \"${commit}\";\nconst bool commit_is_edited = ${edited};\n
}  // namespace exactile::program\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
