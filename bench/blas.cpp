// SPDX-License-Identifier: Apache-2.0
// exactile_blas_race OURS OTHER [--lapack LIBRARY] [--only TEXT] [--rounds N] [--rows ISA] [SIZE...]
// BLAS routines, and with --lapack factorizations of one LAPACK over either, in turns on one thread: each library in a
// name space of the loader's. A line a case: routine, n, microseconds of ours and the other's, and other / ours. With
// --rows, and sizes 4 16 64 256 1024, the rows of src/blas/openblas.inc: geometric means over a routine's letters.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "measure/rounds.hpp"
#include "measure/stopwatch.hpp"

namespace {

namespace measure = exactile::measure;
using Int = std::int32_t;

struct Library {
  void* blas;
  void* lapack;
  [[nodiscard]] void* routine(const std::string& name) const {
    void* found = dlsym(lapack != nullptr ? lapack : blas, name.c_str());
    if (found == nullptr) throw std::runtime_error("no routine " + name);
    return found;
  }
};

void* open(Lmid_t space, const char* path) {
  void* const opened = dlmopen(space, path, RTLD_NOW);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  return opened;
}

/// The first library of a name space comes before all others in it. Where that is an OpenBLAS, LAPACK's routines call
/// those that OpenBLAS has of LAPACK; so it is one that has neither.
Library open(const char* path, const char* lapack) {
  Lmid_t space = 0;
  dlinfo(open(LM_ID_NEWLM, "libm.so.6"), RTLD_DI_LMID, &space);
  const Library library{open(space, path), lapack == nullptr ? nullptr : open(space, lapack)};
  if (lapack != nullptr && dlsym(library.lapack, "dgemm_") != dlsym(library.blas, "dgemm_"))
    throw std::runtime_error(std::string(path) + " is not what " + lapack + " calls: expected a libblas.so.3");
  return library;
}

/// Fortran's way: every argument by its address, and behind them the lengths of strings.
template <class... Args>
void call(void* routine, const Args*... args) {
  using Routine =
      void (*)(decltype(static_cast<const void*>(args))..., std::size_t, std::size_t, std::size_t, std::size_t);
  reinterpret_cast<Routine>(routine)(args..., 1, 1, 1, 1);
}

struct Options {
  std::string_view only;
  int rounds = 7;
  const char* rows = nullptr;
};

class Race {
 public:
  Race(Library ours, Library other, Options options) : libraries_{ours, other}, options_(options) {}

  /// `run` is one call of the routine, after `prepare`, which is not timed. Both orders in turn.
  void operator()(const std::string& label, const std::string& name, Int n, double flops,
                  const std::function<void()>& prepare, const std::function<void(void*)>& run) {
    if (label.find(options_.only) == std::string::npos) return;
    const int calls = std::max(1, static_cast<int>(2e6 / (flops + 2000)));
    std::vector<measure::Series> all;
    for (const Library& library : libraries_)
      all.push_back({.time = [&, routine = library.routine(name)](std::int64_t groups) {
        return seconds_of_groups(groups, calls, prepare, [&] { run(routine); });
      }});
    measure::time_rounds(all, {.warm_up_seconds = 1e-9,  // one group
                               .least_rounds = options_.rounds,
                               .most_rounds = options_.rounds,
                               .shortest_group_seconds = 0});
    const auto microseconds = [&](const measure::Series& series) { return 1e6 * summarize(series).median / calls; };
    const double ratio = measure::ratio_of(all[1], all[0]).all;
    std::fprintf(options_.rows == nullptr ? stdout : stderr, "%s\t%d\t%.3f\t%.3f\t%.3f\n", label.c_str(), n,
                 microseconds(all[0]), microseconds(all[1]), ratio);
    const std::string row = (label.ends_with(" panel") ? "_PANELS(" : "(") + name.substr(0, name.size() - 1);
    logarithms_[row][n].push_back(std::log(ratio));
  }
  void print_rows() const {
    if (options_.rows == nullptr) return;
    for (const auto& [name, sizes] : logarithms_) {
      std::printf("EXACTILE_MEASURED%s, %s", name.c_str(), options_.rows);
      for (const auto& [n, logarithms] : sizes)
        std::printf(", %.2f", std::exp(std::accumulate(logarithms.begin(), logarithms.end(), 0.0) /
                                       static_cast<double>(logarithms.size())));
      std::printf(")\n");
    }
  }

 private:
  static double seconds_of_groups(std::int64_t groups, int calls, const std::function<void()>& prepare,
                                  const std::function<void()>& run) {
    double seconds = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      prepare();
      seconds += measure::thread_seconds_of([&] {
        for (int i = 0; i < calls; ++i) run();
      });
    }
    return seconds;
  }

  Library libraries_[2];
  Options options_;
  std::map<std::string, std::map<Int, std::vector<double>>> logarithms_;
};

template <class T>
struct Kind;
template <>
struct Kind<float> {
  using Real = float;
  static constexpr char letter = 's';
};
template <>
struct Kind<double> {
  using Real = double;
  static constexpr char letter = 'd';
};
template <>
struct Kind<std::complex<float>> {
  using Real = float;
  static constexpr char letter = 'c';
};
template <>
struct Kind<std::complex<double>> {
  using Real = double;
  static constexpr char letter = 'z';
};

template <class T>
class Cases {
 public:
  using Real = typename Kind<T>::Real;
  static constexpr bool is_complex = sizeof(T) != sizeof(Real);

  Cases(Race& race, Int n) : race_(race), n_(n) {
    std::mt19937_64 engine(20261125);
    std::normal_distribution<Real> normal;
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    for (auto* matrix : {&a_, &b_, &start_}) {
      matrix->resize(size);
      for (auto* x = reinterpret_cast<Real*>(matrix->data()); x != reinterpret_cast<Real*>(matrix->data() + size); ++x)
        *x = normal(engine);
    }
    triangle_ = a_;  // in whose inverse numbers neither grow nor vanish
    for (T& x : triangle_) x /= static_cast<Real>(n);
    for (std::size_t i = 0; i < size; i += static_cast<std::size_t>(n) + 1) triangle_[i] = T(1);
    c_ = start_;
  }

  void products() {
    for (const char* ops : {"NN", "TN", "NT", "CN"})
      if (ops[0] != 'C' || is_complex)
        race("gemm", ops, 2, [=, this](void* f) {
          call(f, ops, ops + 1, &n_, &n_, &n_, &one_, a_.data(), &n_, b_.data(), &n_, &zero_, c_.data(), &n_);
        });
  }
  void panels() {
    for (const Int width : {1, 2, 4, 8, 16})
      race_(
          Kind<T>::letter + std::string("gemm panel"), Kind<T>::letter + std::string("gemm_"), width,
          2. * n_ * width * width * (is_complex ? 4 : 1),
          [this] { std::copy(start_.begin(), start_.end(), c_.begin()); },
          [=, this](void* f) {
            call(f, "N", "N", &n_, &width, &width, &one_, a_.data(), &n_, b_.data(), &n_, &one_, c_.data(), &n_);
          });
  }
  void vectors() {
    for (const char* op : {"N", "T", "C"})
      if (op[0] != 'C' || is_complex)
        race("gemv", op, 2. / n_, [=, this](void* f) {
          call(f, op, &n_, &n_, &one_, a_.data(), &n_, b_.data(), &step_, &zero_, c_.data(), &step_);
        });
  }
  void symmetric() {
    for (const char* what : {"sym", "hem"})
      if (what[0] == 's' || is_complex)
        for (const char* place : {"LL", "RU"})
          race(std::string(what) + "m", place, 2, [=, this](void* f) {
            call(f, place, place + 1, &n_, &n_, &one_, a_.data(), &n_, b_.data(), &n_, &zero_, c_.data(), &n_);
          });
  }
  void rank_k() {
    for (const char* what : {"syr", "her"}) {
      if (what[0] == 'h' && !is_complex) continue;
      const char* const places[] = {"LN", what[0] == 'h' ? "UC" : "UT"};
      for (const char* place : places) {
        race(std::string(what) + "k", place, 1, [=, this](void* f) {
          call(f, place, place + 1, &n_, &n_, &one_, a_.data(), &n_, &zero_, c_.data(), &n_);
        });
        race(std::string(what) + "2k", place, 2, [=, this](void* f) {
          call(f, place, place + 1, &n_, &n_, &one_, a_.data(), &n_, b_.data(), &n_, &zero_, c_.data(), &n_);
        });
      }
    }
  }
  void triangles() {
    for (const char* name : {"trmm", "trsm"})
      for (const char* place : {"LLNN", "LUTN", "RLTN", "RUNN"})
        race(name, place, 1, [=, this](void* f) {
          call(f, place, place + 1, place + 2, place + 3, &n_, &n_, &one_, triangle_.data(), &n_, c_.data(), &n_);
        });
  }
  void factorizations() {
    Int info = 0;
    std::vector<Int> pivots(static_cast<std::size_t>(n_));
    std::vector<T> tau(pivots.size());
    std::vector<T> work(64 * pivots.size());
    const auto length = static_cast<Int>(work.size());
    race("getrf", "", 2. / 3, [&](void* f) { call(f, &n_, &n_, c_.data(), &n_, pivots.data(), &info); });
    race("geqrf", "", 4. / 3,
         [&](void* f) { call(f, &n_, &n_, c_.data(), &n_, tau.data(), work.data(), &length, &info); });
    std::swap(start_, triangle_);
    for (std::size_t i = 0; i < start_.size(); i += pivots.size() + 1) start_[i] = T(4);
    for (const char* uplo : {"L", "U"})
      race("potrf", uplo, 1. / 3, [&](void* f) { call(f, uplo, &n_, c_.data(), &n_, &info); });
    std::swap(start_, triangle_);
  }

 private:
  /// `volume`: multiplications and additions over n^3.
  void race(const std::string& stem, const std::string& place, double volume, const std::function<void(void*)>& run) {
    const double n = n_;
    const std::string name = Kind<T>::letter + stem;
    race_(
        place.empty() ? name : name + " " + place, name + "_", n_, volume * n * n * n * (is_complex ? 4 : 1),
        [this] { std::copy(start_.begin(), start_.end(), c_.begin()); }, run);
  }

  Race& race_;
  const Int n_;
  const Int step_ = 1;
  const T one_ = T(1);
  const T zero_ = T(0);
  std::vector<T> a_, b_, start_, triangle_, c_;
};

template <class T>
void race_all(Race& race, const std::vector<Int>& sizes, bool lapack) {
  for (const Int n : sizes) {
    Cases<T> cases(race, n);
    if (lapack) {
      cases.factorizations();
      continue;
    }
    cases.products();
    if (n == 1024) cases.panels();
    cases.vectors();
    cases.symmetric();
    cases.rank_k();
    cases.triangles();
  }
}

int run(int argc, char** argv) {
  if (argc < 3)
    throw std::runtime_error(
        "expected: OURS OTHER [--lapack LIBRARY] [--only TEXT] [--rounds N] [--rows ISA] [SIZE...]");
  const char* lapack = nullptr;
  Options options;
  std::vector<Int> sizes;
  for (int i = 3; i < argc; ++i)
    if (const std::string_view word = argv[i]; word == "--lapack" && i + 1 < argc)
      lapack = argv[++i];
    else if (word == "--only" && i + 1 < argc)
      options.only = argv[++i];
    else if (word == "--rounds" && i + 1 < argc)
      options.rounds = std::max(1, std::atoi(argv[++i]));
    else if (word == "--rows" && i + 1 < argc)
      options.rows = argv[++i];
    else
      sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {256, 1024, 2048};
  Race race(open(argv[1], lapack), open(argv[2], lapack), options);
  race_all<float>(race, sizes, lapack != nullptr);
  race_all<double>(race, sizes, lapack != nullptr);
  race_all<std::complex<float>>(race, sizes, lapack != nullptr);
  race_all<std::complex<double>>(race, sizes, lapack != nullptr);
  race.print_rows();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exactile_blas_race: %s\n", error.what());
    return 1;
  }
}
