// SPDX-License-Identifier: Apache-2.0
// Compiled programs on disk. Needs no device.
#include "opencl/runtime/program_cache.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace exactile::opencl {
namespace {

namespace fs = std::filesystem;

/// A cache of the test's own.
class ProgramCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "exactile-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  /// The file that a program was stored in last.
  static fs::path newest() {
    fs::path path;
    for (const fs::directory_entry& entry : fs::directory_iterator(binary_folder()))
      if (path.empty() || entry.last_write_time() > fs::last_write_time(path)) path = entry.path();
    return path;
  }

 private:
  fs::path folder_;
  std::string before_;
};

TEST_F(ProgramCache, GivesBackWhatWasStoredUnderThatKeyOnly) {
  EXPECT_FALSE(load_binary("a"));
  store_binary("a", "of a");
  store_binary("b", "of b");
  EXPECT_EQ(load_binary("a"), "of a");
  EXPECT_EQ(load_binary("b"), "of b");
  EXPECT_FALSE(load_binary("c"));
}

TEST_F(ProgramCache, ADamagedFileIsAsGoodAsNone) {
  store_binary("a", "of a");
  const fs::path path = newest();
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_FALSE(load_binary("a"));
  std::ofstream(path, std::ios::trunc) << "something else";
  EXPECT_FALSE(load_binary("a"));
}

TEST_F(ProgramCache, WhatIsUsedIsKeptLongest) {
  const auto age = [](std::string_view key, int hours) {
    store_binary(key, std::string(1000, 'x'));
    fs::last_write_time(newest(), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  age("oldest, but used", 3);
  age("old", 2);
  age("new", 1);
  ASSERT_TRUE(load_binary("oldest, but used"));
  remove_oldest_binaries(2500);
  EXPECT_TRUE(load_binary("oldest, but used"));
  EXPECT_TRUE(load_binary("new"));
  EXPECT_FALSE(load_binary("old"));
}

}  // namespace
}  // namespace exactile::opencl
