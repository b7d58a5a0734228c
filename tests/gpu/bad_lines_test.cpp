// SPDX-License-Identifier: Apache-2.0
// One bad row of A and one bad column of B in an otherwise good product of f32: all elements of C that they do not
// touch keep their bits, and those that they touch are right.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};
constexpr std::int64_t c_rows = 150;
constexpr std::int64_t c_columns = 140;
constexpr std::int64_t bad_row = 37;
constexpr std::int64_t bad_column = 71;

enum class Badness : std::uint8_t { wide, infinite, nan, huge, small, zero, negative_zero, overflowing };
constexpr Badness all_badness[] = {Badness::wide,  Badness::infinite, Badness::nan,           Badness::huge,
                                   Badness::small, Badness::zero,     Badness::negative_zero, Badness::overflowing};

std::string_view name_of(Badness badness) {
  constexpr std::string_view names[] = {"wide",  "infinite", "nan",           "huge",
                                        "small", "zero",     "negative zero", "overflowing"};
  return names[static_cast<std::size_t>(badness)];
}

/// Row-major.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<float> elements;

  [[nodiscard]] float at(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
  [[nodiscard]] float& at(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};

Matrix normal_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix m{rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  for (float& x : m.elements) x = normal(random);
  return m;
}

/// Element p of a line of k, made bad. Most of a line is tiny beside what is huge.
float made_bad(float x, std::int64_t p, std::int64_t k, Badness badness, std::mt19937& random) {
  std::uniform_int_distribution<int> exponent(-60, 60);
  switch (badness) {
    case Badness::wide: return std::ldexp(x, exponent(random));
    case Badness::infinite: return p == k / 2 ? std::numeric_limits<float>::infinity() : x;
    case Badness::nan: return p == k - 1 ? std::numeric_limits<float>::quiet_NaN() : x;
    case Badness::huge: return p == k / 3 ? 0x1p60f : x;
    case Badness::small: return std::ldexp(x, p < k / 2 ? -140 : -60);
    case Badness::zero: return 0.0f;
    case Badness::negative_zero: return -0.0f;
    case Badness::overflowing: return std::ldexp(std::abs(x) + 1, 100);  // with its like: each product is beyond f32
  }
  return x;
}

/// The product, by a plan of that kernel; nothing where it refuses.
std::optional<Matrix> multiplied(const Context& context, const std::string& kernel, const Matrix& a, const Matrix& b) {
  const GemmDescription d = contiguous_case(f32_types, a.rows, b.columns, a.columns).description;
  const Result<Plan> plan = Plan::make(d, {.backend = "cuda", .kernel = kernel, .memory = Memory::device});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return std::nullopt;
  }
  Matrix c{a.rows, b.columns, std::vector<float>(static_cast<std::size_t>(a.rows * b.columns))};
  const auto bytes = [](const Matrix& m) { return std::ssize(m.elements) * 4; };
  Result<DeviceMemory> on_device[] = {context.allocate(bytes(a)), context.allocate(bytes(b)),
                                      context.allocate(bytes(c))};
  for (const Result<DeviceMemory>& memory : on_device) EXPECT_TRUE(memory.ok()) << memory.status().message();
  DeviceMemory &da = on_device[0].value(), &db = on_device[1].value(), &dc = on_device[2].value();
  EXPECT_TRUE(da.upload(a.elements.data(), bytes(a)).ok() && db.upload(b.elements.data(), bytes(b)).ok());
  EXPECT_TRUE(dc.fill_bytes(0xff).ok());
  const Status status = plan.value().run({.a = da.at(), .b = db.at(), .c = dc.at()}, context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(dc.download(c.elements.data(), bytes(c)).ok());
  return c;
}

/// Whether c is what the plain loop may give. Sums of finite elements here overflow only where each term does.
bool is_right(float c, const Matrix& a, const Matrix& b, std::int64_t i, std::int64_t j) {
  double sum = 0;
  double magnitude = 0;
  for (std::int64_t p = 0; p < a.columns; ++p) {
    const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
    sum += product;
    magnitude += std::abs(product);
  }
  if (std::isnan(sum)) return std::isnan(c);
  if (std::abs(sum) > static_cast<double>(std::numeric_limits<float>::max()))
    return std::isinf(c) && std::signbit(c) == std::signbit(sum);
  const auto roundings = static_cast<double>(a.columns + 3);
  return std::abs(static_cast<double>(c) - sum) <= roundings * (0x1p-24 * magnitude + 0x1p-149);
}

/// Whether the kernel has that product.
bool expect_only_bad_lines_change(const Context& context, const std::string& kernel, std::int64_t k, Badness badness) {
  Matrix a = normal_matrix(c_rows, k, 1);
  Matrix b = normal_matrix(k, c_columns, 2);
  const std::optional<Matrix> clean = multiplied(context, kernel, a, b);
  if (!clean) return false;
  std::mt19937 random(3);
  for (std::int64_t p = 0; p < k; ++p) {
    a.at(bad_row, p) = made_bad(a.at(bad_row, p), p, k, badness, random);
    b.at(p, bad_column) = made_bad(b.at(p, bad_column), p, k, badness, random);
  }
  const std::optional<Matrix> c = multiplied(context, kernel, a, b);
  EXPECT_TRUE(c) << kernel << " took the product of clean operands only";
  if (!c) return true;
  int changed = 0;
  int wrong = 0;
  for (std::int64_t i = 0; i < c_rows; ++i)
    for (std::int64_t j = 0; j < c_columns; ++j)
      if (i == bad_row || j == bad_column) {
        wrong += is_right(c->at(i, j), a, b, i, j) ? 0 : 1;
      } else {
        changed += std::bit_cast<unsigned>(c->at(i, j)) != std::bit_cast<unsigned>(clean->at(i, j)) ? 1 : 0;
      }
  EXPECT_EQ(changed, 0) << kernel << ", k = " << k << ", " << name_of(badness);
  EXPECT_EQ(wrong, 0) << kernel << ", k = " << k << ", " << name_of(badness);
  return true;
}

TEST(BadLinesOnDevice, AreNobodyElsesAffair) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make("cuda");
  ASSERT_TRUE(context.ok()) << context.status().message();
  int kernels = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    int products = 0;
    for (const std::int64_t k : {64, 65, 127, 128, 513})
      for (const Badness badness : all_badness)
        products += expect_only_bad_lines_change(context.value(), kernel.kernel, k, badness) ? 1 : 0;
    const bool is_sliced = kernel.kernel.find("x3") != std::string::npos;
    EXPECT_TRUE(products > 0 || !is_sliced) << kernel.kernel << " refused all products";
    kernels += products > 0 ? 1 : 0;
  }
  EXPECT_GT(kernels, 0);
}

/// Nothing but NaN among a warp's slices of f16: each of its sums must be made anew.
TEST(BadLinesOnDevice, MayBeAllOfThem) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make("cuda");
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    for (const std::int64_t k : {64, 128, 1100})
      for (const bool all_rows : {true, false}) {
        Matrix a = normal_matrix(c_rows, k, 1);
        Matrix b = normal_matrix(k, c_columns, 2);
        for (Matrix* m : {&a, &b})
          for (float& x : m->elements) x = std::abs(x) + 1;
        for (std::int64_t i = 0; i < (all_rows ? c_rows : c_columns); ++i)
          (all_rows ? a.at(i, k / 2) : b.at(k / 2, i)) = std::numeric_limits<float>::infinity();
        const std::optional<Matrix> c = multiplied(context.value(), kernel.kernel, a, b);
        if (!c) continue;
        const auto right = std::ranges::count(c->elements, std::numeric_limits<float>::infinity());
        EXPECT_EQ(right, c_rows * c_columns) << kernel.kernel << ", k = " << k << (all_rows ? ", rows" : ", columns");
      }
  }
}

/// Makes row i of `a` and column j of `b` such that all their products are zero but one, of a tiny element of the row:
/// f16 slices cannot hold c(i, j). So it is with every such row and every such column.
void make_doubtful(Matrix& a, Matrix& b, std::int64_t i, std::int64_t j) {
  for (std::int64_t p = 0; p + 1 < a.columns; p += 2) {
    a.at(i, p + 1) = 0;
    b.at(p, j) = 0;
  }
  a.at(i, 3) = 0x1.234567p-30f;
}

/// However many elements are doubtful, each has the bits that it would have alone: few and many are summed in two ways.
TEST(BadLinesOnDevice, DoubtfulElementsAreSummedAloneOrInTilesToTheSameBits) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make("cuda");
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    for (const std::int64_t k : {128, 500}) {
      std::optional<Matrix> before;
      for (const std::int64_t lines : {1, 3, 5, 6, 100}) {  // the square of that is doubtful
        Matrix a = normal_matrix(c_rows, k, 1);
        Matrix b = normal_matrix(k, c_columns, 2);
        for (std::int64_t i = 0; i < lines; ++i) make_doubtful(a, b, i, (3 * i + 5) % c_columns);
        const std::optional<Matrix> c = multiplied(context.value(), kernel.kernel, a, b);
        if (!c) break;
        int wrong = 0;
        for (std::int64_t i = 0; i < c_rows; ++i)
          for (std::int64_t j = 0; j < c_columns; ++j) wrong += is_right(c->at(i, j), a, b, i, j) ? 0 : 1;
        EXPECT_EQ(wrong, 0) << kernel.kernel << ", k = " << k << ", " << lines << " doubtful lines";
        // The first one's row and column are the same each time.
        if (before)
          EXPECT_EQ(std::bit_cast<unsigned>(c->at(0, 5)), std::bit_cast<unsigned>(before->at(0, 5)))
              << kernel.kernel << ", k = " << k << ", " << lines << " doubtful lines";
        before = c;
      }
    }
  }
}

}  // namespace
}  // namespace exactile::test
