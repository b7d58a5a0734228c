// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/executable.hpp"

#include <fmt/format.h>

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace.hpp"

namespace exactile::cuda {
namespace {

/// Device memory with an operand's form in it.
class DeviceForm final : public plan::PreparedForm {
 public:
  [[nodiscard]] static Result<std::shared_ptr<DeviceForm>> allocate(std::int64_t bytes, const Device& device,
                                                                    std::string_view kernel) {
    void* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, static_cast<std::size_t>(bytes));
    if (error != cudaSuccess) return check(error, fmt::format("cudaMalloc of {} bytes", bytes), kernel);
    return std::make_shared<DeviceForm>(data, bytes, device.index);
  }
  DeviceForm(void* data, std::int64_t bytes, int device) : data_(data), bytes_(bytes), device_(device) {}
  DeviceForm(const DeviceForm&) = delete;
  DeviceForm& operator=(const DeviceForm&) = delete;
  /// cudaFree() waits for the device.
  ~DeviceForm() override {
    const DeviceGuard guard(device_);
    static_cast<void>(cudaFree(data_));
  }
  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  std::int64_t bytes_;
  int device_;
};

[[nodiscard]] Status check_not_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (Status s = check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing"); !s.ok()) return s;
  if (status == cudaStreamCaptureStatusNone) return {};
  return {StatusCode::invalid_argument,
          "execution.queue is being captured: expected an operand to be prepared before a capture"};
}

/// What earlier calls of this thread left unread (cudaErrorNotReady of a query, say) is not an error of what follows.
void forget_earlier_errors() { static_cast<void>(cudaGetLastError()); }

[[nodiscard]] const void* data_of(const plan::PreparedForm* form) {
  return form == nullptr ? nullptr : static_cast<const DeviceForm*>(form)->data();
}

class OnDevice final : public plan::Executable {
 public:
  OnDevice(std::unique_ptr<const DeviceProduct> product, const Device& device, std::string_view kernel)
      : product_(std::move(product)), device_(device), kernel_(kernel) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    return run_prepared(arguments, {}, execution);
  }
  [[nodiscard]] Status run_prepared(const GemmArguments& arguments, const plan::PreparedForms& forms,
                                    const Execution& execution) const override {
    const DeviceGuard guard(device_.index);
    if (!guard.status().ok()) return guard.status();
    forget_earlier_errors();
    const Result<Workspace> workspace =
        Workspace::take(device_, execution, product_->workspace_bytes_for(arguments), kernel_);
    if (!workspace.ok()) return workspace.status();
    return product_->launch({.arguments = arguments,
                             .workspace = workspace.value().data(),
                             .stream = static_cast<cudaStream_t>(execution.queue),
                             .prepared_a = data_of(forms.a),
                             .prepared_b = data_of(forms.b),
                             .path_counts = static_cast<std::uint64_t*>(execution.path_counts)});
  }
  [[nodiscard]] Result<std::shared_ptr<const plan::PreparedForm>> prepare(Operand operand, const void* elements,
                                                                          const Execution& execution) const override {
    const std::int64_t bytes = product_->prepared_bytes(operand);
    if (bytes == 0) return std::shared_ptr<const plan::PreparedForm>();
    const DeviceGuard guard(device_.index);
    if (!guard.status().ok()) return guard.status();
    forget_earlier_errors();
    const auto stream = static_cast<cudaStream_t>(execution.queue);
    if (Status s = check_not_captured(stream); !s.ok()) return s;
    auto form = DeviceForm::allocate(bytes, device_, kernel_);
    if (!form.ok()) return form.status();
    if (Status s = product_->prepare(operand, elements, form.value()->data(), stream); !s.ok()) return s;
    if (Status s = check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", kernel_); !s.ok()) return s;
    return std::shared_ptr<const plan::PreparedForm>(std::move(form).value());
  }
  [[nodiscard]] std::string blocking() const override { return product_->blocking(); }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return product_->workspace_bytes(); }
  [[nodiscard]] double model_bytes() const override { return product_->model_bytes(); }
  [[nodiscard]] std::vector<Path> paths() const override { return product_->paths(); }

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
