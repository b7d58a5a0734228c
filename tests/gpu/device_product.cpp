// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_product.hpp"

#include <algorithm>

namespace exactile::test {
namespace {

DeviceMemory allocate(const Context& context, std::int64_t bytes) {
  Result<DeviceMemory> memory = context.allocate(bytes);
  if (!memory.ok()) ADD_FAILURE() << memory.status().message();
  return std::move(memory).value();
}

/// Normal numbers, which repeat after a prime number of them: to make each takes longer than a product.
DeviceMemory filled(const Context& context, ElementType type, std::int64_t count, verification::Part part) {
  constexpr std::int64_t period = 65537;
  const std::int64_t size = size_in_bytes(type), made = std::min(count, period);
  std::vector<std::byte> host(static_cast<std::size_t>(count * size));
  verification::fill(verification::Fill::normal, 1, type, 1, made, {made, 1}, 1, host.data(), part);
  for (std::int64_t there = made; there < count; there *= 2)
    std::copy_n(host.data(), std::min(there, count - there) * size, host.data() + there * size);
  DeviceMemory memory = allocate(context, std::ssize(host));
  EXPECT_TRUE(memory.upload(host.data(), std::ssize(host)).ok());
  return memory;
}

}  // namespace

std::string why_no_gpu() {
  std::string reason = "not built with CUDA";
  for (const DeviceInfo& device : devices()) {
    if (device.backend != Backend::cuda) continue;
    if (device.available) return {};
    reason = device.reason;
  }
  return reason;
}

std::vector<KernelOfType> cuda_kernels() {
  std::vector<KernelOfType> all;
  for (const KernelInfo& kernel : kernels())
    if (kernel.backend == Backend::cuda && kernel.available) {
      for (const GemmTypes types : kernel.types)
        if (pinnable_parameters(kernel.name, types).empty())
          all.push_back({kernel.name, types, accuracy_kept(kernel, types)});
      for (KernelOfType& configuration : configurations_of(kernel)) all.push_back(std::move(configuration));
    }
  return all;
}

DeviceProduct::DeviceProduct(const Context& context, const KernelOfType& kernel, std::int64_t m, std::int64_t n,
                             std::int64_t k) {
  const Result<Plan> plan =
      Plan::make(contiguous_case(kernel.types, m, n, k).description, {.backend = Backend::cuda,
                                                                      .kernel = kernel.kernel,
                                                                      .accuracy = kernel.accuracy,
                                                                      .memory = Memory::device,
                                                                      .device = context.device(),
                                                                      .parameters = kernel.parameters});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return;
  }
  plan_ = plan.value();
  a_ = filled(context, kernel.types.input, m * k, verification::Part::a);
  b_ = filled(context, kernel.types.input, k * n, verification::Part::b);
  c_ = allocate(context, m * n * size_in_bytes(kernel.types.output));
}

std::vector<std::byte> DeviceProduct::result() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(c_->bytes()));
  EXPECT_TRUE(c_->download(bytes.data(), c_->bytes()).ok());
  return bytes;
}

}  // namespace exactile::test
