// SPDX-License-Identifier: Apache-2.0
#include "cublas/multiply.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "cublas/choice.hpp"
#include "cublas/driver.hpp"
#include "cublas/settings.hpp"
#include "cublas/workspace.hpp"

namespace exactile::cublas {
namespace {

using Clock = std::chrono::steady_clock;

void say(const Product& product, std::string_view outcome, Clock::time_point start) noexcept {
  const GemmDescription& d = product.description;
  const std::chrono::duration<double, std::micro> time = Clock::now() - start;
  std::fprintf(stderr, "exactile: %s m=%lld n=%lld k=%lld batch=%lld %.*s %.2f us\n", product.routine,
               static_cast<long long>(d.m), static_cast<long long>(d.n), static_cast<long long>(d.k),
               static_cast<long long>(d.batch_count), static_cast<int>(outcome.size()), outcome.data(), time.count());
}

Status run(const Product& product, const Driver& driver, const Plan& plan, bool is_captured) {
  const std::int64_t bytes = plan.workspace_bytes();
  if (bytes == 0) return plan.run(product.arguments, {.queue = product.stream});
  const Workspace::Loan loan(workspace_of(product.handle), driver, product.stream, is_captured, bytes);
  if (loan.data() == nullptr) return {StatusCode::out_of_memory, "no device memory for the workspace"};
  return plan.run(product.arguments, {.queue = product.stream, .workspace = loan.data(), .workspace_bytes = bytes});
}

/// What became of it: no reason where it is enqueued.
struct Outcome {
  std::optional<cublasStatus_t> status;
  std::string text;
};
Outcome forwarded(std::string_view reason) { return {std::nullopt, "forwarded: " + std::string(reason)}; }

Outcome try_ours(const Product& product) {
  const Driver* const known = driver();
  CUdevice device = 0;
  if (known == nullptr || known->current_device(&device) != CUDA_SUCCESS) return forwarded("no device is current");
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (known->is_capturing(product.stream, &capture) != CUDA_SUCCESS || capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return forwarded("the stream cannot be used while another is captured");
  const bool is_captured = capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  const auto choice = is_captured ? known_choice(product.description, device) : choice_for(product.description, device);
  if (choice != nullptr && !choice->plan) return forwarded(choice->reason);
  if (is_captured && (choice == nullptr || !choice->has_run.load(std::memory_order_relaxed)))
    return forwarded("it is captured, and has not run before");
  const Status status = run(product, *known, *choice->plan, is_captured);
  // C may be half written then, and cuBLAS would begin with what is there.
  if (status.code() == StatusCode::device_failure)
    return {CUBLAS_STATUS_EXECUTION_FAILED, std::string(status.message())};
  if (!status.ok()) return forwarded(status.message());
  choice->has_run.store(true, std::memory_order_relaxed);
  return {CUBLAS_STATUS_SUCCESS, verbose ? "kernel=" + std::string(choice->plan->kernel()) : std::string()};
}

}  // namespace

std::optional<cublasStatus_t> multiply(const Product& product) noexcept {
  const auto start = verbose ? Clock::now() : Clock::time_point();
  try {
    const Outcome outcome = try_ours(product);
    if (verbose) say(product, outcome.text, start);
    return outcome.status;
  } catch (const std::exception& e) {  // no memory on the host
    if (verbose) say_forwarded(product.routine, e.what());
    return std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

void say_forwarded(const char* routine, const char* reason) noexcept {
  if (verbose) std::fprintf(stderr, "exactile: %s forwarded: %s\n", routine, reason);
}

}  // namespace exactile::cublas
