// SPDX-License-Identifier: Apache-2.0
// Products that promise more than standard, against MPFR. EXACTILE_CERTIFIED_ELEMENTS sets how many elements each type,
// mode and kernel is asked for; a million before a release.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "certified/exact.hpp"
#include "core/type_dispatch.hpp"
#include "support/check_case.hpp"

namespace exactile::test {
namespace {

enum class Data : std::uint8_t { normal, wide, cancelling, halfway, integers, subnormal, special };
constexpr int kinds_of_data = 7;

template <class T>
T element(double x) {
  if constexpr (sizeof(T) < 4)
    return T(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

template <class T>
double number(T x) {
  if constexpr (sizeof(T) < 4)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

template <class T>
struct Real {
  using type = T;
  static constexpr int parts = 1;
};
template <class T>
struct Real<std::complex<T>> {
  using type = T;
  static constexpr int parts = 2;
};

/// A product of random sizes, layouts, factors and elements.
template <class In, class Out>
class Sample {
 public:
  static constexpr int parts = Real<In>::parts;
  using Part = typename Real<In>::type;
  using OutPart = typename Real<Out>::type;

  Sample(std::uint64_t seed, Data data) : random_(seed), data_(data) {
    const auto size = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random_); };
    d_.types = {element_type_v<In>, element_type_v<Out>};
    d_.m = size(20);
    d_.n = size(30);
    d_.k = size(20) == 20 ? 100 + size(400) : size(64);
    d_.a = layout(d_.m, d_.k);
    d_.b = layout(d_.k, d_.n);
    d_.c = layout(d_.m, d_.n);
    d_.a.conjugate = parts == 2 && coin();
    d_.b.conjugate = parts == 2 && coin();
    fill();
    if (coin()) add_epilogue();
  }

  void check(const std::string& kernel, Backend backend, Accuracy accuracy, int device = 0) {
    std::vector<OutPart> c = c_;
    const GemmArguments arguments{
        .a = a_.data(), .b = b_.data(), .c = c.data(), .alpha = alpha_, .beta = beta_, .bias = bias_.data()};
    const Status status =
        gemm(d_, arguments, {.backend = backend, .kernel = kernel, .accuracy = accuracy, .device = device});
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::int64_t i = 0; i < d_.m; ++i)
      for (std::int64_t j = 0; j < d_.n; ++j)
        for (int part = 0; part < parts; ++part) {
          exact_.set(terms(i, j, part));
          const OutPart computed = c[static_cast<std::size_t>(at(d_.c, i, j) * parts + part)];
          ASSERT_TRUE(accuracy == Accuracy::correctly_rounded ? is_right(computed) : is_within(computed))
              << kernel << " " << to_string(d_.types) << " data " << static_cast<int>(data_) << " m=" << d_.m
              << " n=" << d_.n << " k=" << d_.k << " at " << i << ", " << j << " part " << part << ": "
              << number(computed) << ", due " << exact_.rounded(element_type_v<OutPart>);
        }
  }
  [[nodiscard]] std::int64_t elements() const { return d_.m * d_.n; }

 private:
  bool coin() { return (random_() & 1) != 0; }
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  OperandLayout layout(std::int64_t rows, std::int64_t columns) {
    if (coin()) return {.row_stride = columns, .column_stride = 1};
    return {.row_stride = 1, .column_stride = rows};
  }

  static std::int64_t at(const OperandLayout& l, std::int64_t i, std::int64_t j) {
    return i * l.row_stride + j * l.column_stride;
  }

  /// Exponents that the type has, with room for a product.
  double draw() {
    constexpr bool is_wide = sizeof(Part) == 8;
    constexpr bool is_f16 = std::is_same_v<Part, Float16> || std::is_same_v<Part, Float8E5M2>;
    constexpr bool is_e4m3 = std::is_same_v<Part, Float8E4M3>;
    const int most = is_e4m3 ? 6 : is_f16 ? 12 : is_wide && coin() ? 1000 : 120;
    switch (data_) {
      case Data::wide: return std::ldexp(uniform(-1, 1), whole(-most, most));
      case Data::integers: return whole(-8, 8);
      case Data::subnormal: {
        // Products on both sides of the smallest number of C's type.
        const int middle = sizeof(OutPart) == 8 ? -530 : std::is_same_v<OutPart, Float16> ? -9 : -70;
        return std::ldexp(uniform(-1, 1), is_e4m3 || is_f16 ? whole(-14, -4) : whole(middle - 15, middle + 5));
      }
      case Data::special: {
        const int which = whole(0, 60);
        if (which == 0) return HUGE_VAL;
        if (which == 1) return -HUGE_VAL;
        if (which == 2) return std::nan("");
        if (which < 20) return which % 2 == 0 ? 0.0 : -0.0;
        return std::ldexp(uniform(-1, 1), which == 21 ? most : 0);
      }
      default: return std::normal_distribution<double>()(random_);
    }
  }

  void fill() {
    const auto mk = static_cast<std::size_t>(d_.m * d_.k * parts);
    const auto kn = static_cast<std::size_t>(d_.k * d_.n * parts);
    a_.resize(mk);
    b_.resize(kn);
    c_.resize(static_cast<std::size_t>(d_.m * d_.n * parts));
    for (auto& x : a_) x = element<Part>(draw());
    for (auto& x : b_) x = element<Part>(draw());
    for (auto& x : c_) x = element<OutPart>(std::numeric_limits<double>::quiet_NaN());
    if (data_ == Data::cancelling) cancel();
    if (data_ == Data::halfway) halve();
  }

  Part& a(std::int64_t i, std::int64_t k, int part = 0) {
    return a_[static_cast<std::size_t>(at(d_.a, i, k) * parts + part)];
  }
  Part& b(std::int64_t k, std::int64_t j, int part = 0) {
    return b_[static_cast<std::size_t>(at(d_.b, k, j) * parts + part)];
  }

  /// The second half of the terms takes the first one's products away, but for one that is smaller by 2^-100.
  void cancel() {
    const std::int64_t half = d_.k / 2;
    for (int part = 0; part < parts; ++part) {
      for (std::int64_t i = 0; i < d_.m; ++i) {
        for (std::int64_t k = 0; k < half; ++k) a(i, half + k, part) = a(i, k, part);
        if (d_.k % 2 == 1) a(i, d_.k - 1, part) = element<Part>(std::ldexp(number(a(i, 0, part)), -50));
      }
      for (std::int64_t j = 0; j < d_.n; ++j) {
        for (std::int64_t k = 0; k < half; ++k) b(half + k, j, part) = element<Part>(-number(b(k, j, part)));
        if (d_.k % 2 == 1) b(d_.k - 1, j, part) = element<Part>(std::ldexp(number(b(0, j, part)), -50));
      }
    }
  }

  /// Sums 1 + u + something that is 0, or as small as the type can make it; in some products among terms each of which
  /// is lost beside 1, and together decide.
  void halve() {
    constexpr bool has_8_bits = sizeof(Part) == 1;
    const double lost = sizeof(Part) == 8 ? 0x1p-54 : has_8_bits || std::is_same_v<Part, Float16> ? 0 : 0x1p-27;
    const double beside = coin() ? lost : 0;
    const std::int64_t begin = whole(0, static_cast<int>(d_.k) - 1);
    const auto place = [&](std::int64_t k) { return (begin + k) % d_.k; };
    const double u = unit_roundoff(element_type_v<OutPart>);
    const double least = sizeof(Part) == 8 ? 0x1p-400 : std::is_same_v<Part, float> ? 0x1p-60 : 0x1p-6;
    for (auto& x : a_) x = element<Part>(beside);
    for (auto& x : b_) x = element<Part>(beside);
    for (std::int64_t i = 0; i < d_.m; ++i) {
      const double odd = 1 + 2 * u * whole(0, 3);
      a(i, place(0)) = element<Part>(coin() ? 1 : odd);
      if (d_.k > 1) a(i, place(1)) = element<Part>(std::sqrt(u * (std::ilogb(u) % 2 == 0 ? 1 : 2)));
      if (d_.k > 2) a(i, place(2)) = element<Part>(whole(-1, 1) * least);
    }
    for (std::int64_t j = 0; j < d_.n; ++j) {
      b(place(0), j) = element<Part>(coin() ? 1 : -1);
      if (d_.k > 1) b(place(1), j) = element<Part>(std::sqrt(u / (std::ilogb(u) % 2 == 0 ? 1 : 2)) * (coin() ? 1 : -1));
      if (d_.k > 2) b(place(2), j) = element<Part>(whole(-1, 1) * least);
    }
  }

  void add_epilogue() {
    const auto scalar = [&]() -> Scalar {
      const double x = coin() ? whole(-2, 2) : uniform(-2, 2);
      if (parts == 1 || coin()) return x;
      return std::complex<double>(x, coin() ? whole(-3, 3) * 0.5 : uniform(-2, 2));
    };
    alpha_ = scalar();
    beta_ = scalar();
    for (auto& x : c_) x = element<OutPart>(data_ == Data::special && whole(0, 20) == 0 ? HUGE_VAL : uniform(-2, 2));
    if (coin()) return;
    d_.bias = coin() ? Bias::per_row : Bias::per_column;
    bias_.resize(static_cast<std::size_t>((d_.bias == Bias::per_row ? d_.m : d_.n) * parts));
    for (auto& x : bias_) x = element<OutPart>(uniform(-2, 2));
  }

  /// alpha and beta count as rounded to the type that sums.
  static std::complex<double> factor(const Scalar& scalar) {
    const auto z = scalar.as<std::complex<double>>();
    if (sizeof(Part) == 8) return z;
    const volatile float real = static_cast<float>(z.real()), imaginary = static_cast<float>(z.imag());
    return {static_cast<double>(real), static_cast<double>(imaginary)};
  }

  /// One component as a sum of products.
  std::vector<Term> terms(std::int64_t i, std::int64_t j, int part) {
    std::vector<Term> all;
    const auto add_sum = [&](int of, double factor) {
      for (std::int64_t k = 0; k < d_.k; ++k) {
        const double ar = number(a(i, k));
        const double br = number(b(k, j));
        if (parts == 1) {
          all.push_back({ar, br, factor});
          continue;
        }
        const double ai = number(a(i, k, parts - 1)) * (d_.a.conjugate ? -1 : 1);
        const double bi = number(b(k, j, parts - 1)) * (d_.b.conjugate ? -1 : 1);
        all.push_back(of == 0 ? Term{ar, br, factor} : Term{ar, bi, factor});
        all.push_back(of == 0 ? Term{-ai, bi, factor} : Term{ai, br, factor});
      }
    };
    const auto alpha = factor(alpha_), beta = factor(beta_);
    const auto old = [&](int of) { return number(c_[static_cast<std::size_t>(at(d_.c, i, j) * parts + of)]); };
    const double sign = part == 0 ? -1 : 1;
    if (!alpha_.is_zero()) add_sum(part, alpha.real());
    if (alpha.imag() != 0) add_sum(1 - part, sign * alpha.imag());
    if (!beta_.is_zero()) all.push_back({old(part), beta.real()});
    if (beta.imag() != 0) all.push_back({old(1 - part), sign * beta.imag()});
    if (d_.bias != Bias::none)
      all.push_back({number(bias_[static_cast<std::size_t>((d_.bias == Bias::per_row ? i : j) * parts + part)]), 1});
    return all;
  }

  bool is_right(OutPart computed) {
    const auto due = element<OutPart>(exact_.rounded(element_type_v<OutPart>));
    const auto expected = std::isnan(number(due)) ? element<OutPart>(std::numeric_limits<double>::quiet_NaN()) : due;
    return std::memcmp(&computed, &expected, sizeof(computed)) == 0;
  }

  /// Within u|C| + gamma^2 (...), and half the smallest number where the result underflows.
  bool is_within(OutPart computed) {
    const double due = exact_.rounded(element_type_v<OutPart>);
    const double value = number(computed);
    if (!std::isfinite(due) || !std::isfinite(value))
      return std::isnan(due) ? std::isnan(value) : value == due || exact_.magnitude() > 1e4;
    const double sums = gamma(d_.k * parts + 3, unit_roundoff(accumulator_type(d_.types)));
    const double smallest = sizeof(OutPart) == 8 ? 0x1p-1074 : std::is_same_v<OutPart, Float16> ? 0x1p-24 : 0x1p-133;
    return exact_.distance(value) <= (unit_roundoff(element_type_v<OutPart>) * exact_.magnitude() +
                                      sums * sums * exact_.absolute() + smallest / 2) *
                                         (1 + 0x1p-40);
  }

  std::mt19937_64 random_;
  Data data_;
  GemmDescription d_;
  std::vector<Part> a_, b_;
  std::vector<OutPart> c_, bias_;
  Scalar alpha_ = 1;
  Scalar beta_ = 0;
  ExactValue exact_;
};

void check_many(const KernelInfo& kernel, GemmTypes types, Accuracy accuracy) {
  const auto wanted = static_cast<std::int64_t>(number_from_environment("EXACTILE_CERTIFIED_ELEMENTS", 10000));
  const auto is_there = [&](int device) {
    const GemmDescription any = contiguous_case(types, 8, 8, 8).description;
    return Plan::make(any, {.kernel = kernel.name, .accuracy = accuracy, .device = device}).ok();
  };
  core::with_gemm_types(types, [&]<class In, class Out>() {
    if constexpr (!std::is_integral_v<In>) {
      std::uint64_t seed = 1;
      for (std::int64_t done = 0; done < wanted; ++seed) {
        Sample<In, Out> sample(seed, static_cast<Data>(seed % kinds_of_data));
        for (int device = 0; is_there(device); ++device) {
          sample.check(kernel.name, kernel.backend, accuracy, device);
          if (testing::Test::HasFatalFailure()) return;
        }
        done += sample.elements();
      }
    }
  });
}

void register_all() {
  if (register_absence()) return;
  const Backend wanted = tested_options().backend == Backend::automatic ? Backend::cpu : tested_options().backend;
  for (const KernelInfo& kernel : kernels())
    if (kernel.available && kernel.backend == wanted)
      for (const GemmTypes types : kernel.types)
        for (const Accuracy accuracy : {Accuracy::compensated, Accuracy::correctly_rounded}) {
          const GemmDescription any = contiguous_case(types, 8, 8, 8).description;
          if (!is_floating(types.input) || !Plan::make(any, {.kernel = kernel.name, .accuracy = accuracy}).ok())
            continue;
          register_test("Certified", test_name({kernel.name, types, accuracy}),
                        [=] { check_many(kernel, types, accuracy); });
        }
}

const bool registered = (register_tests = register_all, true);

}  // namespace
}  // namespace exactile::test
