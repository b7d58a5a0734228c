// SPDX-License-Identifier: Apache-2.0
// One bad row of A and one bad column of B in an otherwise good product of f32: all elements of C that they do not
// touch keep their bits, and those that they touch are right.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>

#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

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

/// Row-major. Where there is a batch, its matrices one below the other.
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

std::int64_t batch_of(const Matrix& a, const Matrix& b) { return b.rows / a.columns; }

/// The first row of that matrix of `b` by which row i of `a` is multiplied.
std::int64_t first_row_of_b(const Matrix& a, const Matrix& b, std::int64_t i) {
  return i / (a.rows / batch_of(a, b)) * a.columns;
}

/// The product, with `before` added where it is given, by a plan of that kernel; nothing where it refuses.
std::optional<Matrix> multiplied(const Context& context, const std::string& kernel, const Matrix& a, const Matrix& b,
                                 const Matrix* before = nullptr) {
  const std::int64_t batch = batch_of(a, b);
  const GemmDescription d = contiguous(f32_types, a.rows / batch, b.columns, a.columns, batch);
  const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda, .kernel = kernel, .memory = Memory::device});
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
  EXPECT_TRUE((before == nullptr ? dc.fill_bytes(0xff) : dc.upload(before->elements.data(), bytes(*before))).ok());
  GemmArguments arguments{.a = da.at(), .b = db.at(), .c = dc.at()};
  if (before != nullptr) arguments.beta = 1;
  const Status status = plan.value().run(arguments, context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(dc.download(c.elements.data(), bytes(c)).ok());
  return c;
}

/// Whether c is what the plain loop may give. Sums of finite elements here overflow only where each term does.
bool is_right(float c, const Matrix& a, const Matrix& b, std::int64_t i, std::int64_t j, float before = 0) {
  const std::int64_t first = first_row_of_b(a, b, i);
  double sum = before;
  double magnitude = std::abs(sum);
  for (std::int64_t p = 0; p < a.columns; ++p) {
    const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(first + p, j));
    sum += product;
    magnitude += std::abs(product);
  }
  if (std::isnan(sum)) return std::isnan(c);
  if (std::abs(sum) > static_cast<double>(std::numeric_limits<float>::max()))
    return std::isinf(c) && std::signbit(c) == std::signbit(sum);
  const auto roundings = static_cast<double>(a.columns + 3);
  return std::abs(static_cast<double>(c) - sum) <= roundings * (0x1p-24 * magnitude + 0x1p-149);
}

/// Of slices that hold less than f32: what they cannot hold is found, and summed in another way.
bool is_sliced(const KernelOfType& kernel) { return kernel.kernel.find("x3") != std::string::npos; }

/// Whether the kernel has that product.
bool expect_only_bad_vectors_change(const Context& context, const std::string& kernel, std::int64_t k,
                                    Badness badness) {
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

TEST(BadVectorsOnDevice, AreNobodyElsesAffair) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int kernels = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    int products = 0;
    for (const std::int64_t k : {64, 65, 127, 128, 513})
      for (const Badness badness : all_badness)
        products += expect_only_bad_vectors_change(context.value(), kernel.kernel, k, badness) ? 1 : 0;
    EXPECT_TRUE(products > 0 || !is_sliced(kernel)) << kernel.kernel << " refused all products";
    kernels += products > 0 ? 1 : 0;
  }
  EXPECT_GT(kernels, 0);
}

/// An Inf in each row of A, or each column of B, of positive operands that `prepare` makes of normal ones: all of C is
/// Inf.
void expect_all_infinite(std::initializer_list<std::int64_t> depths,
                         const std::function<void(Matrix& infinite, Matrix& other)>& prepare) {
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    int products = 0;
    for (const std::int64_t k : depths)
      for (const bool of_rows : {true, false}) {
        Matrix a = normal_matrix(c_rows, k, 1);
        Matrix b = normal_matrix(k, c_columns, 2);
        prepare(of_rows ? a : b, of_rows ? b : a);
        for (std::int64_t i = 0; i < (of_rows ? c_rows : c_columns); ++i)
          (of_rows ? a.at(i, k / 2) : b.at(k / 2, i)) = std::numeric_limits<float>::infinity();
        const std::optional<Matrix> c = multiplied(context.value(), kernel.kernel, a, b);
        if (!c) continue;
        ++products;
        const auto right = std::ranges::count(c->elements, std::numeric_limits<float>::infinity());
        EXPECT_EQ(right, c_rows * c_columns) << kernel.kernel << ", k = " << k << (of_rows ? ", rows" : ", columns");
      }
    EXPECT_TRUE(products > 0 || !is_sliced(kernel)) << kernel.kernel << " refused all products";
  }
}

/// Nothing but NaN among a warp's slices of f16: each of its sums must be made anew.
TEST(BadVectorsOnDevice, MayBeAllOfThem) {
  SKIP_WITHOUT_GPU();
  expect_all_infinite({64, 128, 1100}, [](Matrix& infinite, Matrix& other) {
    for (Matrix* m : {&infinite, &other})
      for (float& x : m->elements) x = std::abs(x) + 1;
  });
}

/// Lines that are Inf and zeros are scaled back by the smallest power of two, and those beside them here by another
/// small one: Inf times both together is NaN.
TEST(BadVectorsOnDevice, StayInfiniteBesideSmallOnes) {
  SKIP_WITHOUT_GPU();
  expect_all_infinite({64, 1100}, [](Matrix& infinite, Matrix& other) {
    std::ranges::fill(infinite.elements, 0.0f);
    for (float& x : other.elements) x = std::ldexp(std::abs(x) + 1, -41);
  });
}

/// Makes row i of `a` and column j of `b` such that all their products are zero but two, of tiny elements of the row,
/// near both ends of K: f16 slices cannot hold c(i, j). So it is with every such row and every such column.
void make_doubtful(Matrix& a, Matrix& b, std::int64_t i, std::int64_t j) {
  const std::int64_t first = first_row_of_b(a, b, i);
  for (std::int64_t p = 0; p + 1 < a.columns; p += 2) {
    a.at(i, p + 1) = 0;
    b.at(first + p, j) = 0;
  }
  a.at(i, 3) = 0x1.234567p-30f;
  a.at(i, a.columns - 1) = 0x1.89abcdp-30f;  // k is even
}

/// However many elements need fix-up, each has the bits that it would have alone: few and many are summed in two ways.
TEST(BadVectorsOnDevice, FixedUpElementsHaveTheSameBitsAloneAndInTiles) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    int products = 0;
    for (const std::int64_t k : {128, 500}) {
      std::optional<Matrix> before;
      for (const std::int64_t lines : {1, 3, 5, 6, 100}) {  // the square of that needs fix-up
        Matrix a = normal_matrix(c_rows, k, 1);
        Matrix b = normal_matrix(k, c_columns, 2);
        for (std::int64_t i = 0; i < lines; ++i) make_doubtful(a, b, i, (3 * i + 5) % c_columns);
        const std::optional<Matrix> c = multiplied(context.value(), kernel.kernel, a, b);
        if (!c) break;
        ++products;
        int wrong = 0;
        for (std::int64_t i = 0; i < c_rows; ++i)
          for (std::int64_t j = 0; j < c_columns; ++j) wrong += is_right(c->at(i, j), a, b, i, j) ? 0 : 1;
        EXPECT_EQ(wrong, 0) << kernel.kernel << ", k = " << k << ", " << lines << " rows and columns with fix-up";
        // The first one's row and column are the same each time.
        if (before) {
          EXPECT_EQ(std::bit_cast<unsigned>(c->at(0, 5)), std::bit_cast<unsigned>(before->at(0, 5)))
              << kernel.kernel << ", k = " << k << ", " << lines << " rows and columns with fix-up";
        }
        before = c;
      }
    }
    EXPECT_TRUE(products > 0 || !is_sliced(kernel)) << kernel.kernel << " refused all products";
  }
}

/// The sums of elements that need fix-up meet C as all others do.
TEST(BadVectorsOnDevice, FixedUpElementsAreAddedToC) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard) continue;
    int products = 0;
    for (const std::int64_t k : {128, 500})
      for (const std::int64_t lines : {1, 6}) {
        Matrix a = normal_matrix(c_rows, k, 1);
        Matrix b = normal_matrix(k, c_columns, 2);
        for (std::int64_t i = 0; i < lines; ++i) make_doubtful(a, b, i, (3 * i + 5) % c_columns);
        Matrix before = normal_matrix(c_rows, c_columns, 3);
        for (float& x : before.elements) x = std::ldexp(x, -31);  // seen beside the elements that need fix-up
        const std::optional<Matrix> c = multiplied(context.value(), kernel.kernel, a, b, &before);
        if (!c) continue;
        ++products;
        int wrong = 0;
        for (std::int64_t i = 0; i < c_rows; ++i)
          for (std::int64_t j = 0; j < c_columns; ++j)
            wrong += is_right(c->at(i, j), a, b, i, j, before.at(i, j)) ? 0 : 1;
        EXPECT_EQ(wrong, 0) << kernel.kernel << ", k = " << k << ", " << lines << " rows and columns with fix-up";
      }
    EXPECT_TRUE(products > 0 || !is_sliced(kernel)) << kernel.kernel << " refused all products";
  }
}

/// Products with some rows of A that need fix-up, one below the other, and as many columns of B, each the third after
/// the other.
struct DoubtfulCase {
  std::int64_t batch;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t row;     ///< the first, counted through the batch
  std::int64_t column;  ///< the first

  [[nodiscard]] bool has_row(std::int64_t i, std::int64_t lines) const { return i >= row && i < row + lines; }
  [[nodiscard]] bool has_column(std::int64_t i, std::int64_t j, std::int64_t lines) const {
    return i / m == row / m && j >= column && j < column + 3 * lines && (j - column) % 3 == 0;
  }
};

/// The kernel that sums some elements alone, and in tiles where a warp has more than 32: it has 16 rows by 256 columns,
/// within which the rows and columns below lie.
constexpr std::string_view sums_elements_or_tiles = "sm90_f32_fp16x3_wgmma";
constexpr DoubtfulCase doubtful_cases[] = {
    {1, 256, 8704, 2100, 0, 5},       // an element's K in two pieces; so many tiles that K is in one part
    {34, 40, 52, 2100, 20 * 40, 5},   // one product of a batch, added to C
    {1, 2560, 2300, 300, 1300, 700},  // a tile that is not the first: what the others take in is not split again
};

/// Counts of elements that those rows and columns do not touch and whose bits differ, and of wrong ones among a part of
/// the others.
struct Differences {
  int changed = 0;
  int wrong = 0;
};

Differences differences(const DoubtfulCase& s, std::int64_t lines, const Matrix& a, const Matrix& b, const Matrix& c,
                        const Matrix& same, const Matrix* before) {
  constexpr std::int64_t every = 16;  // the oracle takes its time
  Differences found;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      const bool in_row = s.has_row(i, lines), in_column = s.has_column(i, j, lines);
      if (!in_row && !in_column)
        found.changed += std::bit_cast<unsigned>(c.at(i, j)) != std::bit_cast<unsigned>(same.at(i, j)) ? 1 : 0;
      else if ((in_row && in_column) || (i + j) % every == 0)
        found.wrong += is_right(c.at(i, j), a, b, i, j, before != nullptr ? before->at(i, j) : 0) ? 0 : 1;
    }
  return found;
}

/// One element that needs fix-up is summed alone, 36 in tiles: the one has the same bits, and so have all others.
TEST(BadVectorsOnDevice, FixedUpElementsOfLargeProductsAreSummedToTheSameBits) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const DoubtfulCase& s : doubtful_cases) {
    Matrix few_a = normal_matrix(s.batch * s.m, s.k, 1);
    Matrix few_b = normal_matrix(s.batch * s.k, s.n, 2);
    make_doubtful(few_a, few_b, s.row, s.column);
    Matrix many_a = few_a;
    Matrix many_b = few_b;
    constexpr std::int64_t many = 6;  // the square of that needs fix-up
    for (std::int64_t i = 1; i < many; ++i) make_doubtful(many_a, many_b, s.row + i, s.column + 3 * i);
    Matrix added = normal_matrix(s.batch * s.m, s.n, 3);
    for (float& x : added.elements) x = std::ldexp(x, -31);  // seen beside the elements that need fix-up
    const Matrix* const before = s.batch > 1 ? &added : nullptr;
    for (const KernelOfType& kernel : cuda_kernels()) {
      if (kernel.types != f32_types || kernel.accuracy != Accuracy::standard || !is_sliced(kernel)) continue;
      const std::optional<Matrix> few = multiplied(context.value(), kernel.kernel, few_a, few_b, before);
      EXPECT_TRUE(few || kernel.kernel != sums_elements_or_tiles) << kernel.kernel << " refused the product";
      if (!few) continue;
      const std::optional<Matrix> more = multiplied(context.value(), kernel.kernel, many_a, many_b, before);
      ASSERT_TRUE(more) << kernel.kernel;
      const std::string what = kernel.kernel + ", " + std::to_string(s.batch) + " of " + std::to_string(s.m) + " x " +
                               std::to_string(s.n) + " x " + std::to_string(s.k);
      EXPECT_EQ(differences(s, 1, few_a, few_b, *few, *few, before).wrong, 0) << what << ", one element to fix up";
      const Differences found = differences(s, many, many_a, many_b, *more, *few, before);
      EXPECT_EQ(found.wrong, 0) << what;
      EXPECT_EQ(found.changed, 0) << what;
      EXPECT_EQ(std::bit_cast<unsigned>(more->at(s.row, s.column)), std::bit_cast<unsigned>(few->at(s.row, s.column)))
          << what;
    }
  }
}

}  // namespace
}  // namespace exactile::test
