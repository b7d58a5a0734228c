// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/executable.hpp"

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace.hpp"

namespace exactile::cuda {
namespace {

class OnDevice final : public plan::Executable {
 public:
  OnDevice(std::unique_ptr<const DeviceProduct> product, const Device& device, std::string_view kernel)
      : product_(std::move(product)), device_(device), kernel_(kernel) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    const DeviceGuard guard(device_.index);
    if (!guard.status().ok()) return guard.status();
    const Result<Workspace> workspace =
        Workspace::take(device_, execution, product_->workspace_bytes_for(arguments), kernel_);
    if (!workspace.ok()) return workspace.status();
    return product_->launch({.arguments = arguments,
                             .workspace = workspace.value().data(),
                             .stream = static_cast<cudaStream_t>(execution.queue)});
  }
  [[nodiscard]] std::string blocking() const override { return product_->blocking(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return product_->workspace_bytes(); }
  [[nodiscard]] double model_bytes() const override { return product_->model_bytes(); }

 private:
  std::unique_ptr<const DeviceProduct> product_;
  const Device& device_;
  std::string_view kernel_;
};

}  // namespace

std::unique_ptr<plan::Executable> on_device(std::unique_ptr<const DeviceProduct> product, const Device& device,
                                            std::string_view kernel) {
  return std::make_unique<OnDevice>(std::move(product), device, kernel);
}

}  // namespace exactile::cuda
