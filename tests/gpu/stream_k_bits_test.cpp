// SPDX-License-Identifier: Apache-2.0
// Where blocks share the last tiles of a product, its bits are those of parts of it whose tiles are not shared.
#include <algorithm>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

// More tiles than an H200 computes at a time, whatever their size; ragged in every direction, and not a multiple of the
// chunks that sums are formed in.
constexpr std::int64_t rows = 2301, columns = 2206, terms = 1559;

[[nodiscard]] GemmOptions options_of(const KernelOfType& kernel, bool shared) {
  return {.backend = Backend::cuda,
          .kernel = kernel.kernel,
          .accuracy = kernel.accuracy,
          .memory = Memory::device,
          .parameters = kernel.parameters + (shared ? " STREAM_K=1" : " STREAM_K=0")};
}

/// What is done with the sums.
enum class Ending { alone, everything };

/// `count` rows of C from row `first` on, by a plan for them alone.
void run_rows(const DeviceProduct& product, const KernelOfType& kernel, Ending ending, std::int64_t first,
              std::int64_t count, bool shared, const Context& context) {
  GemmDescription d = contiguous_case(kernel.types, count, columns, terms).description;
  GemmArguments arguments = product.arguments();
  if (ending == Ending::everything) {
    d.bias = Bias::per_column;
    d.activation = Activation::relu;
    arguments.alpha = 2;
    arguments.beta = -3;
    arguments.bias = arguments.b;  // numbers as good as any
  }
  const Result<Plan> plan = Plan::make(d, options_of(kernel, shared));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  arguments.a = static_cast<const std::byte*>(arguments.a) + first * terms * size_in_bytes(kernel.types.input);
  arguments.c = static_cast<std::byte*>(arguments.c) + first * columns * size_in_bytes(kernel.types.output);
  const Status status = plan.value().run(arguments, context.execution());
  ASSERT_TRUE(status.ok()) << status.message();
}

/// Whether the kernel shares tiles there.
bool expect_same_bits(const KernelOfType& kernel, const Context& context) {
  if (kernel.parameters.empty()) return false;
  const Result<Plan> plan =
      Plan::make(contiguous_case(kernel.types, rows, columns, terms).description, options_of(kernel, true));
  if (!plan.ok()) return false;
  SCOPED_TRACE(kernel.kernel + ", " + plan.value().summary().blocking);
  DeviceProduct product(context, kernel, rows, columns, terms);
  for (const Ending ending : {Ending::alone, Ending::everything}) {
    const int before = ending == Ending::alone ? 0xff : 0x3f;  // NaN, or numbers for beta
    product.fill(before);
    run_rows(product, kernel, ending, 0, rows, true, context);
    const std::vector<std::byte> shared = product.result();
    product.fill(before);
    constexpr std::int64_t half = 1152;
    run_rows(product, kernel, ending, 0, half, false, context);
    run_rows(product, kernel, ending, half, rows - half, false, context);
    EXPECT_TRUE(shared == product.result()) << (ending == Ending::alone ? "alone" : "with beta, bias and ReLU");
  }
  return true;
}

TEST(SharedTilesOnDevice, HaveTheBitsOfWholeOnes) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int sharing = 0;
  for (const KernelOfType& kernel : cuda_kernels()) sharing += expect_same_bits(kernel, context.value()) ? 1 : 0;
  EXPECT_GT(sharing, 0);
}

}  // namespace
}  // namespace exactile::test
