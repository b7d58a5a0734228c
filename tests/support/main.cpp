// SPDX-License-Identifier: Apache-2.0
// GoogleTest's main, with a handler that says which case crashed: reads outside an operand meet an inaccessible page.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/check_case.hpp"

namespace exactile::test {

void (*register_tests)() = nullptr;

namespace {

char announced[512];

void write_all(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(3);
}

[[maybe_unused]] void say_which_case(int signal_number) {
  if (announced[0] != '\0') {
    write_all("\ncrashed in the case\n  ");
    write_all(announced);
    write_all("\n");
  }
  // The default action then ends the process with the right status, core file included.
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// Tests lie beside the build's `lib`, where installed programs would not look.
void name_cuda_module() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto module = folder.parent_path().parent_path() / "lib" / "libexactile_cuda.so";
  if (std::filesystem::exists(module, error)) setenv("EXACTILE_CUDA_MODULE", module.c_str(), 0);
}

}  // namespace

void announce(const std::string& line) {
  const std::size_t length = std::min(line.size(), sizeof announced - 1);
  std::memcpy(announced, line.data(), length);
  announced[length] = '\0';
}

}  // namespace exactile::test

int main(int argc, char** argv) {
  exactile::test::name_cuda_module();
  testing::InitGoogleTest(&argc, argv);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    std::signal(signal_number, exactile::test::say_which_case);
#endif
  if (exactile::test::register_tests != nullptr) exactile::test::register_tests();
  return RUN_ALL_TESTS();
}
