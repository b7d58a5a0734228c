// SPDX-License-Identifier: Apache-2.0
#include "cuda_module/places.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "cuda_module/handshake.hpp"

namespace exactile::cuda_module {

std::string own_file() {
  Dl_info info{};
  link_map* object = nullptr;
  if (dladdr1(&build_id, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) return {};
  std::string path = object == nullptr ? "" : object->l_name;
  if (path.empty()) {  // the program itself
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    if (length > 0) path.assign(program, static_cast<std::size_t>(length));
  }
  return path.starts_with('/') ? path : std::string();
}

Result<std::vector<std::string>> module_places(std::optional<std::string_view> named, std::string_view own_file,
                                               bool has_more_rights) {
  if (named) {
    if (!named->starts_with('/'))
      return Status(StatusCode::device_unavailable,
                    fmt::format("EXACTILE_CUDA_MODULE = {}: expected an absolute path", *named));
    return std::vector{std::string(*named)};
  }
  std::vector<std::string> places;
  if (!own_file.empty() && !has_more_rights) {
    const std::string_view folder = own_file.substr(0, own_file.rfind('/'));
    places.push_back(fmt::format("{}/{}", folder, file_name));
    places.push_back(fmt::format("{}/{}/{}", folder, EXACTILE_LIBDIR_FROM_PROGRAMS, file_name));
  }
  places.push_back(fmt::format("{}/{}", EXACTILE_LIBDIR, file_name));
  return places;
}

}  // namespace exactile::cuda_module
