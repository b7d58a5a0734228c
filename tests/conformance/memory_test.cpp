// SPDX-License-Identifier: Apache-2.0
// Which operands may be touched at all: alpha = 0, k = 0 and empty products, and beta = 0.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <tuple>

#include "conformance/support.hpp"
#include "verification/elements.hpp"

namespace exactile::test {
namespace {

constexpr std::size_t page = 4096;

bool has_scales(GemmTypes types) { return is_floating(types.input) && !is_complex(types.input); }

GemmDescription scaled(GemmDescription description) {
  description.row_scales = description.column_scales = true;
  return description;
}

class ForbiddenOperands : public testing::Test {
 protected:
  /// C <- activation(beta * C + bias) with A and B that end the process when they are read.
  void expect_scaling(const KernelOfType& kernel, GemmDescription d, Scalar alpha) {
    const bool floating = is_floating(kernel.types.output);
    const std::int64_t elements = d.m * d.n * std::max<std::int64_t>(d.batch_count, 1);
    for (const int beta : {0, 1, -2}) {
      announce("forbidden A and B: " + test_name(kernel) + ", k = " + std::to_string(d.k) +
               ", beta = " + std::to_string(beta));
      std::vector<std::complex<double>> c(static_cast<std::size_t>(elements));  // room for every type
      for (std::int64_t t = 0; t < elements; ++t) {
        const double value = beta == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(t % 5 - 2);
        if (floating) {
          verification::store(kernel.types.output, c.data(), t, value, 0);
        } else {
          verification::store(kernel.types.output, c.data(), t, static_cast<std::uint64_t>(t % 5 - 2));
        }
      }
      const GemmArguments arguments{.a = forbidden_.data(),
                                    .b = forbidden_.data(),
                                    .c = c.data(),
                                    .alpha = alpha,
                                    .beta = beta,
                                    .row_scales = forbidden_.data(),
                                    .column_scales = forbidden_.data()};
      const Status status = gemm(d, arguments, {.kernel = kernel.kernel});
      if (status.code() == StatusCode::unsupported && !kernel.kernel.empty()) return;
      ASSERT_TRUE(status.ok()) << test_name(kernel) << ": " << status.message();
      for (std::int64_t t = 0; t < elements; ++t)
        ASSERT_EQ(element(kernel.types.output, c.data(), t), static_cast<double>(beta * (t % 5 - 2)))
            << test_name(kernel) << ", element " << t << ", beta = " << beta;
    }
    announce({});
  }

  static double element(ElementType type, const void* data, std::int64_t index) {
    double real = 0;
    double imaginary = 0;
    std::uint64_t integer = 0;
    if (!is_floating(type)) {
      verification::gather(type, data, index, 1, 1, &integer);
      return static_cast<double>(static_cast<std::int64_t>(integer));
    }
    verification::gather(type, data, index, 1, 1, &real, &imaginary);
    return real;
  }

  ForbiddenMemory forbidden_{page};
};

TEST_F(ForbiddenOperands, AlphaZeroReadsNeitherAnorB) {
  for (const KernelOfType& kernel : everything()) {
    expect_scaling(kernel, contiguous(kernel.types, 5, 7, 3), 0);
    expect_scaling(kernel, contiguous(kernel.types, 1, 70, 300), 0);
    expect_scaling(kernel, contiguous(kernel.types, 70, 1, 300), 0);
    expect_scaling(kernel, contiguous(kernel.types, 33, 35, 1000), 0.0);
    expect_scaling(kernel, contiguous(kernel.types, 4, 4, 4, 3), 0);
    if (has_scales(kernel.types)) expect_scaling(kernel, scaled(contiguous(kernel.types, 5, 7, 3)), 0);
  }
}

TEST_F(ForbiddenOperands, NothingIsReadWhereKIsZero) {
  for (const KernelOfType& kernel : everything()) {
    expect_scaling(kernel, contiguous(kernel.types, 5, 7, 0), 1);
    expect_scaling(kernel, contiguous(kernel.types, 33, 35, 0), 2);
    expect_scaling(kernel, contiguous(kernel.types, 4, 4, 0, 3), 1);
    if (has_scales(kernel.types)) expect_scaling(kernel, scaled(contiguous(kernel.types, 5, 7, 0)), 2);
  }
}

TEST_F(ForbiddenOperands, NullIsFineWhereNothingIsRead) {
  for (const KernelOfType& kernel : everything()) {
    for (const auto& [m, n, batch] : {std::tuple{0, 5, 1}, {5, 0, 1}, {0, 0, 1}, {5, 5, 0}}) {
      const GemmDescription d = contiguous(kernel.types, m, n, 3, batch);
      EXPECT_TRUE(runs(d, {}, kernel) || !kernel.kernel.empty());
      const GemmArguments forbidden{.a = forbidden_.data(), .b = forbidden_.data(), .c = forbidden_.data(), .beta = 2};
      EXPECT_TRUE(runs(d, forbidden, kernel) || !kernel.kernel.empty());
    }
    std::vector<std::complex<double>> c(4);
    GemmArguments no_inputs{.c = c.data(), .alpha = 0};
    EXPECT_TRUE(runs(contiguous(kernel.types, 2, 2, 3), no_inputs, kernel) || !kernel.kernel.empty());
    no_inputs.alpha = 1;
    EXPECT_TRUE(runs(contiguous(kernel.types, 2, 2, 0), no_inputs, kernel) || !kernel.kernel.empty());
  }
}

TEST(BetaZero, OverwritesNaNInEveryKernel) {
  for (const KernelOfType& kernel : everything()) {
    for (const auto& [m, n, k] : {std::tuple{3, 5, 7}, {1, 65, 40}, {65, 1, 40}, {50, 49, 300}}) {
      verification::Case test = contiguous_case(kernel.types, m, n, k);  // run_case() poisons C
      test.options.kernel = kernel.kernel;
      check_case(test);
      test.description.c = {1, m};
      check_case(test);
      test.beta = -0.0;
      check_case(test);
    }
  }
}

}  // namespace
}  // namespace exactile::test
