// SPDX-License-Identifier: Apache-2.0
// A backend whose one device says on which threads a team of its module runs, and whose one kernel multiplies in host
// memory with the other sign, so that who looks at C knows where it was computed. FAKE_DEVICE says what goes wrong.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/team.hpp"
#include "cuda/backend.hpp"

namespace exactile::cuda {
namespace {

std::atomic<int> estimates = 0;  ///< that planning has asked for

std::vector<DeviceInfo> devices() {
  std::array<std::atomic<int>, 3> ids{};
  core::run_team(3, [&](const core::Member& member) {
    ids[static_cast<std::size_t>(member.id)] = gettid();
    member.meet();
  });
  DeviceInfo info{.backend = Backend::cuda, .name = "fake", .available = true, .reason = {}, .properties = {}};
  for (const auto& id : ids) info.properties.emplace_back("thread", std::to_string(id.load()));
  info.properties.emplace_back("estimates", std::to_string(estimates.load()));
  return {info};
}

constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32},
                           GemmTypes{ElementType::cf32, ElementType::cf32}};

std::string_view trouble() {
  const char* text = getenv("FAKE_DEVICE");
  return text == nullptr ? "" : text;
}

class Product final : public plan::Executable {
 public:
  explicit Product(const GemmDescription& description) : d_(description) {}

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    if (trouble() == "full") return {StatusCode::out_of_memory, "the fake device is full"};
    if (trouble() == "broken") return {StatusCode::device_failure, "the fake device is broken"};
    if (execution.workspace_bytes != workspace_bytes()) return {StatusCode::invalid_argument, "another workspace"};
    if (execution.workspace != nullptr) std::memset(execution.workspace, 0xff, workspace_size);
    for (std::int64_t p = 0; p < d_.batch_count; ++p)
      for (std::int64_t i = 0; i < d_.m; ++i)
        for (std::int64_t j = 0; j < d_.n; ++j)
          if (is_complex(d_.types.input))
            element<std::complex<float>>(arguments, p, i, j);
          else
            element<float>(arguments, p, i, j);
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return "SIGN=-1"; }
  [[nodiscard]] double model_bytes() const override { return 0; }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return trouble() == "needy" ? workspace_size : 0; }

 private:
  static constexpr std::int64_t workspace_size = 1 << 20;

  template <class T>
  static T& at(T* data, const OperandLayout& layout, std::int64_t p, std::int64_t i, std::int64_t j) {
    return data[p * layout.batch_stride + i * layout.row_stride + j * layout.column_stride];
  }
  static float conjugate_if(bool, float x) { return x; }
  static std::complex<float> conjugate_if(bool asked, std::complex<float> x) { return asked ? std::conj(x) : x; }

  template <class T>
  void element(const GemmArguments& arguments, std::int64_t p, std::int64_t i, std::int64_t j) const {
    T sum = 0;
    for (std::int64_t k = 0; k < d_.k; ++k)
      sum += conjugate_if(d_.a.conjugate, at(static_cast<const T*>(arguments.a), d_.a, p, i, k)) *
             conjugate_if(d_.b.conjugate, at(static_cast<const T*>(arguments.b), d_.b, p, k, j));
    T& c = at(static_cast<T*>(arguments.c), d_.c, p, i, j);
    const T beta = arguments.beta.as<T>();
    c = (beta == T(0) ? T(0) : beta * c) - arguments.alpha.as<T>() * sum;
    if (d_.bias == Bias::per_row) c += static_cast<const T*>(arguments.bias)[i];
    if constexpr (std::is_same_v<T, float>)
      if (d_.activation == Activation::relu) c = std::max(c, 0.0F);
  }
  GemmDescription d_;
};

std::unique_ptr<plan::Executable> make_product(const plan::Problem& p) {
  return std::make_unique<Product>(p.description);
}

/// D <- C, for one product.
class Bringing final : public plan::Executable {
 public:
  explicit Bringing(const GemmDescription& description) : d_(description) {}
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    for (std::int64_t i = 0; i < d_.m; ++i)
      for (std::int64_t j = 0; j < d_.n; ++j)
        static_cast<float*>(arguments.d)[i * d_.d->row_stride + j * d_.d->column_stride] =
            static_cast<const float*>(arguments.c)[i * d_.c.row_stride + j * d_.c.column_stride];
    return {};
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription d_;
};

/// A product of alpha = 0 does what is left of it.
std::unique_ptr<plan::Executable> make_scaling(const plan::Problem& p) {
  if (p.description.d) return std::make_unique<Bringing>(p.description);
  return make_product(p);
}

plan::KernelEntry kernel(std::string_view name, double (*cost)(const plan::Problem&)) {
  return {
      .name = name,
      .backend = Backend::cuda,
      .role = "engine",
      .summary = "the other sign",
      .types = types,
      .unavailable = [](int device) { return device == 0 ? std::string_view() : "there is no device of that index"; },
      .refuses = [](const plan::Problem&) { return std::string_view(); },
      .cost = cost,
      .prepare = make_product,
      .on_device = true,
      .conjugates = true};
}

/// The second stands for those on the CUDA cores.
const std::array list{kernel("fake_kernel",
                             [](const plan::Problem&) {
                               ++estimates;
                               if (trouble() == "slowest") return 2000.0;
                               return trouble() == "slow" ? 500.0 : 1e-6;
                             }),
                      kernel("simt_fake", [](const plan::Problem&) { return 1000.0; })};

Status none() { return {StatusCode::device_unavailable, "the fake device computes nothing"}; }

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{
      .backend = Backend::cuda,
      .kernels = [] { return std::span<const plan::KernelEntry>(list); },
      .devices = devices,
      .measure_peak = [](GemmTypes, int, int) -> Result<double> { return none(); },
      .open = [](int) -> Result<std::unique_ptr<plan::DeviceContext>> { return none(); },
      .prepare_scaling = make_scaling};
  return entry;
}

const plan::Offload& offload() {
  static const plan::Offload all{
      .backend = &backend(),
      .context_seconds = context_seconds,
      .overlaps_copies = true,
      .why_absent = [] { return std::string_view(); },
      .first_use_seconds = [](int) { return trouble() == "unready" ? context_seconds : 0.0; },
      .only_by_name = [](int) { return std::string_view(); },
      .is_pinned = [](const void*, std::int64_t, int) { return trouble() == "pinned"; },
      .opened_by = nullptr};
  return all;
}

}  // namespace exactile::cuda
