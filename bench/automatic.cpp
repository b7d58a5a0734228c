// SPDX-License-Identifier: Apache-2.0
// What a call that names no backend loses against the better of the processor and the GPU: f32 squares of 16 to 16384
// in host memory.
//
//     exactile_automatic                  40 squares, one after the other in one process
//     exactile_automatic --fresh          8 squares, each the first product of a process of its own
//     exactile_automatic BACKEND SIZE     seconds of the first product of this process
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/exactile.hpp"
#include "measure/stopwatch.hpp"

namespace {

using exactile::Backend;

constexpr double patience = 0.08;  ///< seconds that a backend is timed for, unless one call takes longer
constexpr Backend all[] = {Backend::cpu, Backend::cuda, Backend::automatic};

struct Matrices {
  explicit Matrices(std::int64_t size) : a(static_cast<std::size_t>(size * size)), b(a.size()), c(a.size(), -1) {
    std::minstd_rand dice(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    // Enough of it is random: the time does not depend on the rest, and drawing does.
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = i < 65536 ? uniform(dice) : a[i - 65521];
      b[i] = i < 65536 ? uniform(dice) : b[i - 65519];
    }
  }
  std::vector<float> a, b, c;
};

double run(Matrices& matrices, std::int64_t n, Backend backend) {
  exactile::Status status;
  const double seconds = exactile::measure::seconds_of([&] {
    status = exactile::gemm(exactile::MatrixView<const float>(matrices.a.data(), n, n),
                            exactile::MatrixView<const float>(matrices.b.data(), n, n),
                            exactile::MatrixView(matrices.c.data(), n, n), {.options = {.backend = backend}});
  });
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    std::exit(2);
  }
  return seconds;
}

/// The last row's last element against a sum in f64.
void check(const Matrices& matrices, std::int64_t n) {
  double sum = 0, size = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const double term = static_cast<double>(matrices.a[static_cast<std::size_t>((n - 1) * n + k)]) *
                        static_cast<double>(matrices.b[static_cast<std::size_t>(k * n + n - 1)]);
    sum += term;
    size += std::abs(term);
  }
  const double error = std::abs(sum - static_cast<double>(matrices.c[static_cast<std::size_t>(n * n - 1)]));
  if (!(error <= exactile::gamma(n, 0x1p-24) * size)) {
    std::fprintf(stderr, "%lld^3 is wrong\n", static_cast<long long>(n));
    std::exit(3);
  }
}

void in_one_process() {
  Matrices matrices(16384);
  run(matrices, 2048, Backend::cuda);  // its driver is open then, as in a process that has done such products
  double sum = 0, worst = 0;
  for (int step = 0; step < 40; ++step) {
    const std::int64_t n = std::lround(16 * std::pow(1024.0, step / 39.0));
    double best[3] = {1e9, 1e9, 1e9};
    // In turns, so that what slows the machine down slows all of them.
    double spent = 0;
    int round = 0;
    do {
      for (int place = 0; place < 3; ++place) {  // each after each other one: a GPU's driver empties the caches
        const int which = round % 2 == 0 ? place : 2 - place;
        const double seconds = run(matrices, n, all[which]);
        check(matrices, n);
        best[which] = std::min(best[which], seconds);
        spent += seconds;
      }
      ++round;
    } while (spent < 3 * patience || round < 2);
    const double ratio = best[2] / std::min(best[0], best[1]);
    sum += ratio;
    worst = std::max(worst, ratio);
    std::fflush(stdout);
    std::printf("%6lld^3  cpu %10.6f ms  cuda %10.6f ms  automatic %10.6f ms  ratio %.2f\n", static_cast<long long>(n),
                best[0] * 1e3, best[1] * 1e3, best[2] * 1e3, ratio);
  }
  std::printf("mean %.3f worst %.2f\n", sum / 40, worst);
}

/// Of a process that does nothing else.
double first_product(const char* program, const char* backend, const std::string& size) {
  const std::string command = std::string(program) + " " + backend + " " + size;
  FILE* const pipe = popen(command.c_str(), "r");
  double seconds = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &seconds) != 1 || pclose(pipe) != 0) {
    std::fprintf(stderr, "%s failed\n", command.c_str());
    std::exit(4);
  }
  return seconds;
}

void in_fresh_processes(const char* program) {
  double worst = 0;
  for (const char* size : {"64", "512", "1024", "2048", "3000", "4096", "6000", "8192"}) {
    double times[3];
    for (int which = 0; which < 3; ++which) {
      const std::string name(to_string(all[which]));
      times[which] = std::min(first_product(program, name.c_str(), size), first_product(program, name.c_str(), size));
    }
    const double ratio = times[2] / std::min(times[0], times[1]);
    worst = std::max(worst, ratio);
    std::fflush(stdout);
    std::printf("%6s^3 first  cpu %10.3f ms  cuda %10.3f ms  automatic %10.3f ms  ratio %.2f\n", size, times[0] * 1e3,
                times[1] * 1e3, times[2] * 1e3, ratio);
  }
  std::printf("worst of fresh processes %.2f\n", worst);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (count == 1) {
    in_one_process();
  } else if (first == "--fresh") {
    in_fresh_processes(arguments[0]);
  } else if (const auto backend = exactile::parse_backend(first); backend && count == 3) {
    const std::int64_t n = std::atoll(arguments[2]);
    Matrices matrices(n);
    std::printf("%.9f\n", run(matrices, n, *backend));
    check(matrices, n);
  } else {
    std::fprintf(stderr, "usage: exactile_automatic [--fresh | BACKEND SIZE]\n");
    return 1;
  }
}
