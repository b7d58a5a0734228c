# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source file that defines the build id: BUILDER (version and compiler) and a hash of FILES, the headers
# that the library and its module share. Two objects with one id agree on every type that they exchange.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "// Made by ExactileBuildId.cmake.\n#include \"cuda_module/handshake.hpp\"\n
namespace exactile::cuda_module {\n\nconst char* const build_id = \"${BUILDER} ${hash}\";\n
}  // namespace exactile::cuda_module\n")
