// SPDX-License-Identifier: Apache-2.0
// Device memory that is not there, and workspaces that the caller brings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "exactile/interop/cuda.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// Takes the device's memory until no piece of one MiB is left, or so many bytes are.
class Hog {
 public:
  explicit Hog(const Context& context, std::int64_t left = 0) {
    const Result<DeviceMemory> spared = context.allocate(left);
    EXPECT_TRUE(spared.ok()) << spared.status().message();
    for (std::int64_t bytes = std::int64_t{1} << 40; bytes >= mebibyte;) {
      Result<DeviceMemory> piece = context.allocate(bytes);
      if (piece.ok())
        taken_.push_back(std::move(piece).value());
      else
        bytes /= 2;
    }
  }

 private:
  std::vector<DeviceMemory> taken_;
};

/// A kernel whose workspace for a large product is more than a MiB; nothing where there is none.
std::optional<KernelOfType> kernel_with_workspace(std::int64_t size) {
  for (const KernelOfType& kernel : cuda_kernels()) {
    const GemmDescription d = contiguous_case(kernel.types, size, size, size).description;
    const Result<Plan> plan = Plan::make(
        d, {.backend = Backend::cuda, .kernel = kernel.kernel, .accuracy = kernel.accuracy, .memory = Memory::device});
    if (plan.ok() && plan.value().summary().workspace_bytes > 64 * mebibyte) return kernel;
  }
  return std::nullopt;
}

TEST(DeviceMemory, ExhaustedMemoryIsAStatusAndLeavesTheContextInOrder) {
  SKIP_WITHOUT_GPU();
  constexpr std::int64_t size = 4999;
  const std::optional<KernelOfType> kernel = kernel_with_workspace(size);
  ASSERT_TRUE(kernel) << "no kernel has a large workspace";
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  DeviceProduct product(context.value(), *kernel, size, size, size);
  ASSERT_TRUE(product.plan());
  {
    const Hog hog(context.value());
    EXPECT_EQ(context.value().allocate(4 * mebibyte).status().code(), StatusCode::out_of_memory);
    const Status status = product.plan()->run(product.arguments(), context.value().execution());
    EXPECT_EQ(status.code(), StatusCode::out_of_memory) << status.message();
    EXPECT_NE(status.message().find(kernel->kernel), std::string_view::npos) << status.message();
    EXPECT_TRUE(context.value().synchronize().ok());
  }
  const Status status = product.plan()->run(product.arguments(), context.value().execution());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(context.value().synchronize().ok());
}

TEST(DeviceMemory, OperandsOfTheHostThatDoNotFitPassInTiles) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  constexpr std::int64_t m = 8192, n = 7000, k = 6000;
  std::vector<float> a(m * k), b(k * n), c(m * n, std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t i = 0; i < m; ++i) std::fill_n(&a[static_cast<std::size_t>(i * k)], k, static_cast<float>(i % 7));
  for (std::int64_t j = 0; j < n * k; ++j) b[static_cast<std::size_t>(j)] = static_cast<float>(j % n % 5);
  const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, m, n, k).description;
  const Hog hog(context.value(), 160 * mebibyte);
  ASSERT_EQ(context.value().allocate(m * k * 4).status().code(), StatusCode::out_of_memory) << "A alone fits";
  const Status status = gemm(d, {.a = a.data(), .b = b.data(), .c = c.data()}, {.backend = Backend::cuda});
  ASSERT_TRUE(status.ok()) << status.message();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      wrong += c[static_cast<std::size_t>(i * n + j)] == static_cast<float>(k * (i % 7) * (j % 5)) ? 0 : 1;
  EXPECT_EQ(wrong, 0);
}

/// The memory of a vector made known to the driver, so that the device copies from and to it by itself.
class Pinned {
 public:
  explicit Pinned(std::vector<float>& memory) : data_(memory.data()) {
    EXPECT_EQ(cudaHostRegister(data_, memory.size() * sizeof(float), cudaHostRegisterDefault), cudaSuccess);
  }
  ~Pinned() { static_cast<void>(cudaHostUnregister(data_)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  void* data_;
};

TEST(DeviceMemory, PinnedOperandsOfTheHostGiveTheSameBits) {
  SKIP_WITHOUT_GPU();
  for (const auto& [m, n, k] : {Shape{37, 41, 53}, Shape{1001, 903, 257}, Shape{2011, 1603, 65}}) {
    std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i));
    std::vector<float> pageable(static_cast<std::size_t>(m * n), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> pinned = pageable;
    const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, m, n, k).description;
    const auto run = [&](std::vector<float>& c) {
      return gemm(d, {.a = a.data(), .b = b.data(), .c = c.data()}, {.backend = Backend::cuda});
    };
    Status status = run(pageable);
    ASSERT_TRUE(status.ok()) << status.message();
    const Pinned pinned_a(a), pinned_b(b), pinned_c(pinned);
    status = run(pinned);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(pageable == pinned) << m << " x " << n << " x " << k;
  }
}

/// Runs a product in a workspace between guards and full of NaN, which shows writes outside and reads of what nobody
/// wrote.
void check_workspace(const Context& context, DeviceProduct& product, const std::string& name) {
  ASSERT_TRUE(product.plan()->run(product.arguments(), context.execution()).ok());
  const std::vector<std::byte> expected = product.result();

  const std::int64_t bytes = product.plan()->summary().workspace_bytes;
  constexpr std::int64_t guard = 256;
  Result<DeviceMemory> workspace = context.allocate(bytes + 2 * guard);
  ASSERT_TRUE(workspace.ok() && workspace.value().fill_bytes(0xff).ok());
  product.poison();
  const auto stream = static_cast<cudaStream_t>(context.execution().queue);
  const Status status =
      product.plan()->run(product.arguments(), interop::on(stream, workspace.value().at(guard), bytes));
  ASSERT_TRUE(status.ok()) << name << ": " << status.message();
  EXPECT_EQ(product.result(), expected) << name;
  std::vector<std::byte> after(static_cast<std::size_t>(bytes + 2 * guard));
  ASSERT_TRUE(workspace.value().download(after.data(), std::ssize(after)).ok());
  for (std::int64_t i = 0; i < guard; ++i) {
    ASSERT_EQ(after[static_cast<std::size_t>(i)], std::byte{0xff}) << name;
    ASSERT_EQ(after[after.size() - 1 - static_cast<std::size_t>(i)], std::byte{0xff}) << name;
  }
}

/// Offers workspaces that will not do for a product that needs all of what its plan says.
void check_refusals(const Context& context, DeviceProduct& product, bool is_of_complex, const std::string& name) {
  const std::int64_t bytes = product.plan()->summary().workspace_bytes;
  const Result<DeviceMemory> workspace = context.allocate(bytes + 256);
  ASSERT_TRUE(workspace.ok());
  const auto stream = static_cast<cudaStream_t>(context.execution().queue);
  const auto refused = [&](void* data, std::int64_t size) {
    GemmArguments arguments = product.arguments();
    if (is_of_complex) arguments.alpha = std::complex<double>(0, 1);  // with a real one the kernels need less
    return product.plan()->run(arguments, interop::on(stream, data, size)).code();
  };
  EXPECT_EQ(refused(workspace.value().at(), bytes - 1), StatusCode::invalid_argument) << name;
  EXPECT_EQ(refused(workspace.value().at(128), bytes), StatusCode::invalid_argument) << name;
}

TEST(DeviceMemory, AWorkspaceOfTheCallersIsUsedAndChecked) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int used = 0;
  // The second and third are deep: K is split, and partial sums lie in the workspace. Some kernels need less there
  // than their plans say, since TMA can address operands that happen to lie well.
  for (const auto& [m, n, k] : {std::array{129, 131, 133}, std::array{9, 130, 2100}, std::array{130, 9, 2100}})
    for (const KernelOfType& kernel : cuda_kernels()) {
      DeviceProduct product(context.value(), kernel, m, n, k);
      if (!product.plan() || product.plan()->summary().workspace_bytes == 0) continue;
      const std::string name = fmt::format("{} {}x{}x{}", test_name(kernel), m, n, k);
      check_workspace(context.value(), product, name);
      if (m == 129) check_refusals(context.value(), product, is_complex(kernel.types.input), name);
      ++used;
    }
  EXPECT_GT(used, 0);
}

}  // namespace
}  // namespace exactile::test
