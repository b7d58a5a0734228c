// SPDX-License-Identifier: Apache-2.0
#include "measure/bandwidth.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "measure/stopwatch.hpp"

namespace exactile::measure {
namespace {

constexpr std::size_t words = (std::size_t{64} << 20) / sizeof(std::uint64_t);

/// Eight sums, so that no addition waits for the one before it.
std::uint64_t read(const std::vector<std::uint64_t>& memory) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i < memory.size(); i += 8)
    for (std::size_t series = 0; series < 8; ++series) sums[series] += memory[i + series];
  return std::accumulate(std::begin(sums), std::end(sums), std::uint64_t{0});
}

double one_pass(const std::vector<std::vector<std::uint64_t>>& memory) {
  std::latch start(static_cast<std::ptrdiff_t>(memory.size()));
  std::vector<std::thread> threads;
  std::vector<double> seconds(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      volatile std::uint64_t sum = 0;
      seconds[i] = seconds_of([&] { sum = read(memory[i]); });
    });
  for (std::thread& thread : threads) thread.join();
  return *std::ranges::max_element(seconds);
}

}  // namespace

double read_bandwidth(int threads) {
  constexpr int passes = 7;
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const std::vector<std::vector<std::uint64_t>> memory(count, std::vector<std::uint64_t>(words, 1));
  double least = one_pass(memory);
  for (int pass = 1; pass < passes; ++pass) least = std::min(least, one_pass(memory));
  return static_cast<double>(count * words * sizeof(std::uint64_t)) / least;
}

Result<double> fill_bandwidth(const Context& context) {
  constexpr int passes = 3;
  constexpr int fills = 8;  // one after another, so that what stays in a cache behind the last one is a small part
  constexpr std::int64_t bytes = std::int64_t{256} << 20;
  Result<DeviceMemory> memory = context.allocate(bytes);
  if (!memory.ok()) return memory.status();
  double least = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < passes; ++pass) {
    const Result<double> seconds = context.time([&] {
      Status status;
      for (int fill = 0; fill < fills && status.ok(); ++fill) status = memory.value().fill_bytes(0x55);
      return status;
    });
    if (!seconds.ok()) return seconds.status();
    least = std::min(least, seconds.value());
  }
  return static_cast<double>(fills * bytes) / least;
}

}  // namespace exactile::measure
