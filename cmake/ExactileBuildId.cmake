# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source file that defines the build id: BUILDER (version and compiler), a hash of FILES, the headers that
# the library and its module share, and which standard library it is compiled with. Two objects with one id agree on every type that they exchange.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "// Made by ExactileBuildId.cmake.
#include <version>\n
#include \"cuda_module/handshake.hpp\"\n
// A macro's value; the name of one that is not defined.
#define EXACTILE_TEXT(x) #x
#define EXACTILE_VALUE(x) EXACTILE_TEXT(x)\n
namespace exactile::cuda_module {\n
const char* const build_id = \"${BUILDER} ${hash} \" EXACTILE_VALUE(_GLIBCXX_USE_CXX11_ABI) \" \" EXACTILE_VALUE(
    _GLIBCXX_DEBUG) \" \" EXACTILE_VALUE(_LIBCPP_ABI_VERSION);\n
}  // namespace exactile::cuda_module\n")
