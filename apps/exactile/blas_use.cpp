// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "elf_file.hpp"
#include "failure.hpp"
#include "finding.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

namespace fs = std::filesystem;

/// What a command prints on standard output; nothing where it failed.
std::optional<std::string> output_of(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string text;
  std::array<char, 65536> block{};
  for (ssize_t size = 0; failed == 0 && (size = read(pipe_ends[0], block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(size));
  close(pipe_ends[0]);
  int status = 1;
  if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return text;
}

/// Every path to a shared library in a text of the loader's or of /proc/PID/maps, each once, in its order.
std::vector<std::string> libraries_in(const std::string& text) {
  std::vector<std::string> libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('/');
    if (begin == std::string::npos) continue;
    std::string path = line.substr(begin);
    if (const std::size_t end = path.find(" (0x"); end != std::string::npos) path.resize(end);
    if (path.find(".so") != std::string::npos && std::ranges::find(libraries, path) == libraries.end())
      libraries.push_back(path);
  }
  return libraries;
}

/// dgemm_, cblas_dgemm, and both as builds for Python or for 64-bit integers spell them: scipy_dgemm_64_.
bool is_gemm(std::string_view name) {
  for (const std::string_view prefix : {"scipy_", "cblas_"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  while (name.ends_with("_") || name.ends_with("64")) name.remove_suffix(name.ends_with("_") ? 1 : 2);
  return name == "dgemm" || name == "sgemm";
}

/// Whose BLAS this library is; empty where it is none.
std::string blas_in(const ElfFile& file) {
  if (!file.defines(is_gemm)) return {};
  struct Mark {
    const char* symbol;
    const char* name;
  };
  constexpr std::array<Mark, 5> marks = {{{"exactile_blas_version", "exactile"},
                                          {"MKL_Get_Version_String", "MKL"},
                                          {"bli_info_get_version_str", "BLIS"},
                                          {"openblas_get_config", "OpenBLAS"},
                                          {"ATL_buildinfo", "ATLAS"}}};
  for (const Mark& mark : marks)
    if (file.defines([&](std::string_view name) { return name.find(mark.symbol) != std::string_view::npos; }))
      return mark.name;
  return "a BLAS without a mark: the reference, or one on top of another";
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

constexpr const char* how_to_take_ours =
    "LD_PRELOAD=libexactile_blas.so before the command, or `./dev install-blas` for all programs";

Findings findings_of(const std::string& who, const std::vector<std::string>& libraries, bool in_order) {
  Findings findings;
  for (const std::string& library : libraries) {
    const std::string blas = blas_in(ElfFile(library));
    if (blas.empty()) continue;
    Finding finding{.topic = "BLAS", .what = fmt::format("{}: {}", blas, real_path(library))};
    if (blas != "exactile") {
      finding.state = State::limited;
      finding.why = fmt::format("{} does not multiply with exactile here", who);
      finding.advice = how_to_take_ours;
    }
    // The loader takes the first that has the symbol.
    if (!findings.empty() && in_order) {
      finding = {.topic = "behind it", .what = finding.what};
    }
    findings.push_back(std::move(finding));
  }
  if (findings.empty())
    findings.push_back({"BLAS", State::missing, "none", fmt::format("{} loads no library that has dgemm or sgemm", who),
                        "a library that is opened later, by dlopen, shows in a running process: doctor PID"});
  else if (findings.size() > 1 && !in_order)
    findings.push_back({.topic = "several", .what = "each part of it uses the one that it was linked with"});
  return findings;
}

std::string in_path(const std::string& name) {
  const char* const folders = std::getenv("PATH");
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path;
  }
  return {};
}

Findings blas_of_file(const std::string& path) {
  const ElfFile file(path);
  if (!file.is_elf())
    fail(Exit::bad_usage,
         "{}: is no 64-bit ELF program; of a script name the Python package that multiplies, numpy, say", path);
  if (file.interpreter().empty() && path.find(".so") == std::string::npos)
    return {{"BLAS", State::limited, "unknown", "it is linked statically", "build it with a shared BLAS"}};
  const std::string loader = file.interpreter().empty() ? ElfFile("/proc/self/exe").interpreter() : file.interpreter();
  const auto text = output_of({loader, "--list", path});
  if (!text) fail(Exit::trouble, "{}: the loader {} cannot list its libraries", path, loader);
  return findings_of(path, libraries_in(*text), true);
}

Findings blas_of_process(const std::string& number) {
  std::ifstream file("/proc/" + number + "/maps");
  std::ostringstream text;
  if (!(text << file.rdbuf())) fail(Exit::bad_usage, "{}: there is no such process, or it is another user's", number);
  return findings_of("process " + number, libraries_in(text.str()), false);
}

Findings blas_of_package(const std::string& name) {
  const auto text = output_of({"python3", "-c", fmt::format("import {}; print(open('/proc/self/maps').read())", name)});
  if (!text)
    fail(Exit::bad_usage,
         "{}: is no program in PATH, and `python3 -c 'import {}'` fails; expected a program, the number "
         "of a process, or a Python package",
         name, name);
  return findings_of("Python's " + name, libraries_in(*text), false);
}

}  // namespace

void look_at_system_blas(Findings& findings) {
  constexpr const char* name = "libblas.so.3";
  void* const handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    findings.push_back({"BLAS", State::missing, name, "the loader finds none; exactile itself needs none",
                        "Debian: libblas3, or `./dev install-blas`"});
    return;
  }
  link_map* map = nullptr;
  const bool is_known = dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  const std::string path = real_path(is_known ? map->l_name : name);
  const std::string blas = blas_in(ElfFile(path));
  findings.push_back({.topic = "BLAS", .what = fmt::format("{} is {}: {}", name, path, blas)});
  // Not closed: a library whose worker threads run must not be unmapped.
}

Findings blas_of(const std::string& program) {
  const auto only = [&](auto test) {
    return !program.empty() && std::ranges::all_of(program, [&](unsigned char c) { return test(c); });
  };
  if (only([](unsigned char c) { return std::isdigit(c) != 0; })) return blas_of_process(program);
  if (program.find('/') != std::string::npos) return blas_of_file(program);
  if (const std::string path = in_path(program); !path.empty()) return blas_of_file(path);
  if (only([](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; }))
    return blas_of_package(program);
  fail(Exit::bad_usage, "{}: is no program in PATH; expected a program, the number of a process, or a Python package",
       printable(program));
}

}  // namespace exactile::program
