// SPDX-License-Identifier: Apache-2.0
// The user's file of measured rows: what is kept in it, and which files are left alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cuda/model/rows_file.hpp"
#include "tuning/table/file.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cuda::model {
namespace {

namespace fs = std::filesystem;

class RowsFile : public testing::Test {
 protected:
  RowsFile() { fs::create_directories(folder_); }
  ~RowsFile() override { fs::remove_all(folder_); }
  std::string write(const char* name, std::string_view text) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }
  static DeviceRows rows(const char* name) {
    return parse_rows(std::string("device\t") + name +
                      "\tCC=90 SMS=7 SHARED_BYTES=65536 L2_BYTES=1048576 MEMORY_MB=1024 CLOCK_KHZ=1000000 "
                      "BANDWIDTH_MBS=1000000\tLAUNCH_PS=1 SIDE_LAUNCH_PS=1 OVERLAP_PM=1 SHARE_PM=1 COPY_SHARE_PM=1 "
                      "TURN_SHARE_PM=1\n")
        .at(0);
  }
  const fs::path folder_ = fs::temp_directory_path() / ("exactile_rows_" + std::to_string(getpid()));
};

TEST_F(RowsFile, KeepsTheRowsOfOtherDevices) {
  const std::string path = folder_ / "deep" / "cuda.tsv";
  EXPECT_TRUE(check_rows_file(path).ok());
  EXPECT_FALSE(fs::exists(folder_ / "deep"));
  for (const char* name : {"one", "two", "one"}) EXPECT_TRUE(keep(rows(name), path).ok());
  const std::vector<DeviceRows> found = rows_of(path);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "two");
  EXPECT_EQ(found[1].name, "one");
}

TEST_F(RowsFile, TheLinkOfTheHostIsKept) {
  const std::string path = folder_ / "cuda.tsv";
  DeviceRows measured = rows("one");
  EXPECT_EQ(measured.link.bytes_per_second, plan::HostLink().bytes_per_second);  // rows of before it was measured
  measured.link = {.bytes_per_second = 2e10, .round_trip_seconds = 25e-6, .copy_bytes_per_second = 9e9};
  ASSERT_TRUE(keep(measured, path).ok());
  const plan::HostLink found = rows_of(path).at(0).link;
  EXPECT_EQ(found.bytes_per_second, 2e10);
  EXPECT_NEAR(found.round_trip_seconds, 25e-6, 1e-12);
  EXPECT_EQ(found.copy_bytes_per_second, 9e9);
  std::string text = tuning::content_of(path);
  text.replace(text.find("LINK_MBS=20000"), 14, "LINK_MBS=0");
  EXPECT_TRUE(parse_rows(text).empty());  // nothing is divided by zero
}

TEST_F(RowsFile, ALinkStaysOne) {
  const std::string path = write("cuda.tsv", ""), link = folder_ / "link.tsv";
  fs::create_symlink(path, link);
  EXPECT_TRUE(keep(rows("one"), link).ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(rows_of(path).size(), 1U);
}

TEST_F(RowsFile, FilesOfSomethingElseAreLeftAsTheyAre) {
  const std::string rows_of_others = folder_ / "tuning.tsv";
  ASSERT_TRUE(tuning::add_row(rows_of_others, {.key = {.kernel = "opencl_packed",
                                                       .version = 1,
                                                       .types = "f32",
                                                       .shape_class = "large",
                                                       .device = "a device",
                                                       .driver = "any"},
                                               .parameters = {},
                                               .rate = 1e9})
                  .ok());
  for (const std::string& path :
       {rows_of_others, write("letter.txt", "# SPDX-License-Identifier: Apache-2.0\nDear\n")}) {
    const std::string before = tuning::content_of(path);
    for (const Status& status : {check_rows_file(path), keep(rows("one"), path)}) {
      EXPECT_EQ(status.code(), StatusCode::invalid_argument);
      EXPECT_NE(status.message().find(path), std::string_view::npos);
    }
    EXPECT_EQ(tuning::content_of(path), before);
  }
}

}  // namespace
}  // namespace exactile::cuda::model
