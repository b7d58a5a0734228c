// SPDX-License-Identifier: Apache-2.0
// The tuning file and the search, without any device.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "search/search.hpp"
#include "tuning/table/table.hpp"

namespace exactile::tuning {
namespace {

namespace fs = std::filesystem;

class TuningFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "exactile-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "rows.tsv";
    setenv("EXACTILE_TUNING_DB", path_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("EXACTILE_TUNING_DB");
    fs::remove_all(folder_);
  }
  [[nodiscard]] std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  fs::path folder_;
  fs::path path_;
};

/// A variable of the environment that has its old value again afterwards.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

Row row(std::int64_t size, double rate) {
  return {{"opencl_packed", 1, "f32", "large", "Some GPU, 2nd edition", "1.2 beta"}, {{"MWG", size}, {"NWG", 2}}, rate};
}

Query query() {
  return {.kernel = "opencl_packed",
          .version = 1,
          .types = {"f32"},
          .shape_class = "large",
          .devices = {"Some GPU, 2nd edition", "any:gpu"},
          .driver = "1.2 beta"};
}

bool anything(const Parameters&) { return true; }

TEST(Parameters, ReadWhatTheyWrite) {
  const Parameters p{{"MWG", 128}, {"SA", 0}, {"X", -3}};
  EXPECT_EQ(p.to_string(), "MWG=128 SA=0 X=-3");
  EXPECT_EQ(Parameters::parse(p.to_string()), p);
  EXPECT_EQ(p.get("MWG"), 128);
  EXPECT_EQ(p.get("absent", 7), 7);
  for (const char* bad :
       {"MWG", "MWG=", "=3", "MWG=x", "MWG=1.5", "MWG=1  NWG=2", "MWG=1 MWG=2", "MWG=99999999999999999999"})
    EXPECT_FALSE(Parameters::parse(bad)) << bad;
}

TEST(Rows, SurviveTheirText) {
  const Rows parsed = parse_rows(to_line(row(64, 1.5e12)));
  ASSERT_EQ(parsed.rows.size(), 1U);
  EXPECT_EQ(parsed.rows[0].key, row(64, 0).key);
  EXPECT_EQ(parsed.rows[0].parameters, row(64, 0).parameters);
  EXPECT_DOUBLE_EQ(parsed.rows[0].rate, 1.5e12);
}

TEST(Rows, EveryCutAndEveryChangedByteIsNoticed) {
  const std::string line = to_line(row(64, 1.5e12));
  for (std::size_t length = 1; length + 1 < line.size(); ++length) {
    const Rows parsed = parse_rows(line.substr(0, length));
    EXPECT_TRUE(parsed.rows.empty() && parsed.unreadable_lines == 1) << length;
  }
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    std::string damaged = line;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const Rows parsed = parse_rows(damaged);
    EXPECT_TRUE(parsed.rows.empty()) << damaged;
  }
}

TEST(Rows, ForeignTextIsLeftOut) {
  const Rows parsed = parse_rows("hello\n\n# a remark\n\x01\x02\t\t\n" + to_line(row(8, 1)) + "{\"json\": true}\n");
  EXPECT_EQ(parsed.rows.size(), 1U);
  EXPECT_EQ(parsed.unreadable_lines, 3);
}

TEST_F(TuningFile, TheFastestLegalRowIsFound) {
  for (const auto& [size, rate] : {std::pair(16, 1e9), {32, 3e9}, {64, 2e9}, {128, 0.0}})
    ASSERT_TRUE(add_row(path_, row(size, rate)).ok());
  EXPECT_EQ(find(query(), anything)->parameters.get("MWG"), 32);
  EXPECT_EQ(find(query(), [](const Parameters& p) { return p.get("MWG") != 32; })->parameters.get("MWG"), 64);
  EXPECT_NE(find(query(), anything)->source.find("tuned here"), std::string::npos);
}

TEST_F(TuningFile, ALaterRateOfTheSameReplacesTheEarlier) {
  ASSERT_TRUE(add_row(path_, row(32, 3e9)).ok());
  ASSERT_TRUE(add_row(path_, row(64, 2e9)).ok());
  ASSERT_TRUE(add_row(path_, row(32, 1e9)).ok());
  EXPECT_EQ(read_file(path_).rows.size(), 2U);
  EXPECT_EQ(find(query(), anything)->parameters.get("MWG"), 64);
}

TEST_F(TuningFile, RowsOfOthersDoNotCount) {
  for (int what = 0; what < 5; ++what) {
    Row other = row(32, 3e9);
    (what == 0   ? other.key.kernel
     : what == 1 ? other.key.types
     : what == 2 ? other.key.shape_class
     : what == 3 ? other.key.device
                 : other.key.driver) = "other";
    ASSERT_TRUE(add_row(path_, other).ok());
  }
  Row older = row(32, 3e9);
  older.key.version = 7;
  ASSERT_TRUE(add_row(path_, older).ok());
  const auto found = find(query(), anything);  // the shipped row for any GPU
  ASSERT_TRUE(found);
  EXPECT_NE(found->source.find("shipped for any:gpu"), std::string::npos) << found->source;
}

TEST_F(TuningFile, DamageIsReportedAndMended) {
  ASSERT_TRUE(add_row(path_, row(16, 1e9)).ok());
  ASSERT_TRUE(add_row(path_, row(32, 2e9)).ok());
  const std::string whole = content();
  write(whole.substr(0, whole.size() - 20));  // as after a full disk
  EXPECT_EQ(read_file(path_).unreadable_lines, 1);
  const auto found = find(query(), anything);
  EXPECT_EQ(found->parameters.get("MWG"), 16);
  EXPECT_NE(found->source.find("1 unreadable lines"), std::string::npos) << found->source;
  ASSERT_TRUE(add_row(path_, row(64, 3e9)).ok());
  EXPECT_EQ(read_file(path_).unreadable_lines, 0);
  EXPECT_EQ(read_file(path_).rows.size(), 2U);
}

TEST_F(TuningFile, AForeignFileIsNotOverwritten) {
  write("my diary\nnothing happened\n");
  EXPECT_FALSE(add_row(path_, row(16, 1e9)).ok());
  EXPECT_EQ(content(), "my diary\nnothing happened\n");
}

TEST_F(TuningFile, WhatIsNoFileStaysAsItIs) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& place : {pipe, folder_}) {
    EXPECT_TRUE(read_file(place).rows.empty()) << place;
    const Status status = add_row(place, row(16, 1e9));
    EXPECT_NE(status.message().find("is no file"), std::string_view::npos) << status.message();
    EXPECT_FALSE(fs::exists(place.string() + ".lock")) << place;
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(TuningFile, ALinkIsFollowed) {
  const fs::path link = folder_ / "link.tsv";
  ASSERT_TRUE(add_row(path_, row(16, 1e9)).ok());
  fs::create_symlink(path_, link);
  ASSERT_TRUE(add_row(link, row(64, 3e9)).ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(path_).rows.size(), 2U);

  const fs::path nowhere = folder_ / "nowhere.tsv";
  fs::create_symlink(folder_ / "missing.tsv", nowhere);
  const Status status = add_row(nowhere, row(64, 3e9));
  EXPECT_NE(std::string(status.message()).find("is a link to nothing"), std::string::npos) << status.message();
  EXPECT_TRUE(fs::is_symlink(nowhere));
}

TEST(UserFile, LiesInTheCacheUnlessItsPathIsRelative) {
  const auto in_cache = [](const char* cache, const char* home) {
    const ScopedVariable no_file("EXACTILE_TUNING_DB", "");
    const ScopedVariable cache_now("XDG_CACHE_HOME", cache);
    const ScopedVariable home_now("HOME", home);
    return user_file();
  };
  EXPECT_EQ(in_cache("/cache", "/home/me"), "/cache/exactile/tuning.tsv");
  EXPECT_EQ(in_cache("cache", "/home/me"), "/home/me/.cache/exactile/tuning.tsv");
  EXPECT_EQ(in_cache("", "/home/me"), "/home/me/.cache/exactile/tuning.tsv");
  EXPECT_EQ(in_cache("cache", ""), "");
  EXPECT_EQ(in_cache("cache", "me"), "");
}

TEST_F(TuningFile, NoFileIsNoRows) {
  EXPECT_TRUE(read_file(path_).rows.empty());
  EXPECT_TRUE(read_file(folder_).rows.empty());  // a folder
}

TEST_F(TuningFile, ManyProcessesLoseNoRow) {
  constexpr int processes = 4;
  constexpr int rows_each = 20;
  for (int p = 0; p < processes; ++p) {
    if (fork() != 0) continue;
    bool good = true;
    for (int r = 0; r < rows_each; ++r) good = good && add_row(path_, row(1000 * p + r, 1e9)).ok();
    _exit(good ? 0 : 1);
  }
  for (int p = 0; p < processes; ++p) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  std::set<std::int64_t> sizes;
  for (const Row& r : read_file(path_).rows) sizes.insert(r.parameters.get("MWG"));
  EXPECT_EQ(sizes.size(), static_cast<std::size_t>(processes * rows_each));
  EXPECT_EQ(read_file(path_).unreadable_lines, 0);
}

TEST(ShapeClasses, DivideTheShapes) {
  EXPECT_EQ(shape_class(64, 4096), "thin");
  EXPECT_EQ(shape_class(4096, 128), "thin");
  EXPECT_EQ(shape_class(64, 64), "small");
  EXPECT_EQ(shape_class(1024, 1024), "medium");
  EXPECT_EQ(shape_class(4096, 4096), "large");
  EXPECT_EQ(shape_class(INT64_MAX / 2, INT64_MAX / 2), "large");
  for (const std::string_view name : {"thin", "small", "medium", "large"})
    for (const bool is_cpu : {false, true}) {
      const Shape shape = typical_shape(name, is_cpu);
      EXPECT_EQ(shape_class(shape.m, shape.n), name);
    }
}

/// Seven parameters; one combination in three is legal.
Space wide_space() {
  Space space;
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"}) space.push_back({name, {1, 2, 4, 8, 16, 32}});
  return space;
}

bool is_legal(const Parameters& p) { return (p.get("A") + p.get("B") + p.get("C")) % 3 != 0; }

/// A hill with a ridge: the best is at 8 everywhere, and parameters interact.
double rate_of(const Parameters& p) {
  double loss = 0;
  double last = 3;
  for (const auto& [name, value] : p.values()) {
    const double exponent = std::log2(static_cast<double>(value));
    loss += (exponent - 3) * (exponent - 3) + 0.5 * (exponent - last) * (exponent - last);
    last = exponent;
  }
  return 1e12 / (1 + loss / 4);
}

TEST(Search, ComesNearTheBestOfAWideSpace) {
  double best = 0;
  for (int a = 0; a < 279936; ++a) {
    Parameters p;
    int rest = a;
    for (const Range& range : wide_space()) {
      p.set(range.name, range.values[static_cast<std::size_t>(rest % 6)]);
      rest /= 6;
    }
    if (is_legal(p)) best = std::max(best, rate_of(p));
  }
  Search search(wide_space(), is_legal, 1);
  for (int i = 0; i < 400; ++i) {
    const auto candidate = search.next();
    ASSERT_TRUE(candidate);
    ASSERT_TRUE(is_legal(*candidate));
    search.report(*candidate, rate_of(*candidate));
  }
  EXPECT_GT(search.best_rate(), 0.95 * best);
}

TEST(Search, NeverRepeatsAndEndsWhenAllIsKnown) {
  Space small{{"A", {1, 2, 3}}, {"B", {1, 2, 3}}, {"C", {1, 2}}};
  Search search(
      small, [](const Parameters& p) { return p.get("A") != p.get("B"); }, 3);
  std::set<std::string> seen;
  while (const auto candidate = search.next()) {
    EXPECT_TRUE(seen.insert(candidate->to_string()).second);
    search.report(*candidate, candidate->get("A") == 1 ? 0 : 1e9);  // some fail
    ASSERT_LE(seen.size(), 12U);
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_NE(search.best().get("A"), 1);
}

TEST(Search, GoesOnFromWhatIsKnown) {
  Search search(wide_space(), is_legal, 1);
  Parameters good;
  for (const Range& range : wide_space()) good.set(range.name, 8);
  good.set("A", 4);
  search.report(good, 5e11);
  EXPECT_EQ(search.best(), good);
  for (int i = 0; i < 50; ++i) {
    const auto candidate = search.next();
    ASSERT_TRUE(candidate);
    EXPECT_NE(*candidate, good);
    search.report(*candidate, 1e9);
  }
  EXPECT_EQ(search.best(), good);
}

TEST(Search, TheLastReportHolds) {
  Search search(wide_space(), is_legal, 1);
  const std::vector<Parameters> three{*search.next(), *search.next(), *search.next()};
  double rate = 0;
  for (const Parameters& p : three) search.report(p, rate += 1e9);
  EXPECT_EQ(search.best(), three[2]);
  search.report(three[2], 1.9e9);
  EXPECT_EQ(search.best(), three[1]);
  EXPECT_EQ(search.reported(), 3);
  EXPECT_EQ(search.leaders(6, 0.9), (std::vector{three[1], three[2]}));
  EXPECT_EQ(search.leaders(1, 0), std::vector{three[1]});
}

TEST(Search, SuggestionsComeFirst) {
  Search search(wide_space(), is_legal, 1);
  Parameters suggestion;
  for (const Range& range : wide_space()) suggestion.set(range.name, 16);
  suggestion.set("A", 2);
  search.suggest(suggestion);
  EXPECT_EQ(search.next(), suggestion);
}

}  // namespace
}  // namespace exactile::tuning
