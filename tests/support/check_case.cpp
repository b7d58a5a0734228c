// SPDX-License-Identifier: Apache-2.0
#include "support/check_case.hpp"

#include "exactile/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

namespace exactile::test {
namespace {

class RegisteredTest : public testing::Test {
 public:
  explicit RegisteredTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

/// The number behind "MR=" and the like.
std::int64_t number_behind(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return 0;
  std::int64_t value = 0;
  std::from_chars(text.data() + at + label.size(), text.data() + text.size(), value);
  return value;
}

}  // namespace

verification::Case contiguous_case(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.description = {.types = types, .m = m, .n = n, .k = k, .a = {k, 1}, .b = {n, 1}, .c = {n, 1}},
          .options = tested_options()};
}

Outcome check_case(const verification::Case& test) {
  const std::string line = verification::reproducer(test);
  announce(line);
  // Of OpenCL's operands each has a buffer, so that it shows where a kernel is given another's.
  const auto placement =
      test.options.backend == Backend::opencl ? verification::Placement::apart : verification::Placement::together;
  const Result<verification::ErrorReport> result = verification::run_case(test, placement);
  announce({});
  if (!result.ok()) {
    if (result.status().code() == StatusCode::unsupported && !test.options.kernel.empty()) return Outcome::unsupported;
    ADD_FAILURE() << to_string(result.status().code()) << ": " << result.status().message() << "\n  " << line;
    return Outcome::failed;
  }
  const verification::ErrorReport& report = result.value();
  if (report.passed) return Outcome::passed;
  ADD_FAILURE() << report.failure << " (error over bound " << report.error_over_bound << ")\n  " << line;
  return Outcome::failed;
}

void Tally::operator+=(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: ++passed; break;
    case Outcome::failed: ++failed; break;
    case Outcome::unsupported: ++unsupported; break;
  }
}

const GemmOptions& tested_options() {
  static const GemmOptions options = [] {
    const char* const backend = std::getenv("EXACTILE_TEST_BACKEND");
    const char* const memory = std::getenv("EXACTILE_TEST_MEMORY");
    GemmOptions made{.backend = parse_backend(backend == nullptr ? "automatic" : backend).value()};
    const bool in_host_memory =
        made.backend == Backend::automatic || (memory != nullptr && std::string_view(memory) == "host");
    made.memory = in_host_memory ? Memory::host : Memory::device;
    return made;
  }();
  return options;
}

bool register_absence() {
  const Backend wanted = tested_options().backend;
  std::string reasons;
  for (const DeviceInfo& device : devices()) {
    if (device.backend != wanted) continue;
    if (device.available) return false;
    reasons += fmt::format(" {}: {}.", device.name, device.reason);
  }
  if (wanted == Backend::automatic) return false;
  register_test("Device", "absent", [reasons] { GTEST_SKIP() << "no device:" << reasons; });
  return true;
}

Accuracy accuracy_kept(const KernelInfo& kernel, GemmTypes types) {
  const GemmDescription description = contiguous_case(types, 256, 256, 256).description;
  const auto takes = [&](Accuracy accuracy) {
    return Plan::make(description, {.kernel = kernel.name, .accuracy = accuracy}).ok();
  };
  for (const Accuracy accuracy : {Accuracy::standard, Accuracy::reduced, Accuracy::correctly_rounded})
    if (takes(accuracy)) return accuracy;
  return Accuracy::standard;
}

namespace {

Backend backend_with_kernels() {
  const Backend wanted = tested_options().backend;
  return wanted == Backend::automatic ? Backend::cpu : wanted;
}

}  // namespace

std::vector<KernelOfType> available_kernels() {
  std::vector<KernelOfType> all;
  for (const KernelInfo& kernel : kernels())
    if (kernel.available && kernel.backend == backend_with_kernels())
      for (const GemmTypes types : kernel.types) all.push_back({kernel.name, types, accuracy_kept(kernel, types)});
  return all;
}

TurnOfType turn_of_type(const KernelOfType& kernel) {
  for (const KernelInfo& info : kernels())
    if (info.name == kernel.kernel)
      return {std::ranges::find(info.types, kernel.types) - info.types.begin(), std::ssize(info.types)};
  return {};
}

std::vector<std::string> pinnable_parameters(const std::string& kernel, GemmTypes types) {
  const Result<TuningTarget> target = tuning_target(kernel, types);
  if (!target.ok() || target.value().configurations.size() < 2) return {};
  return target.value().configurations;
}

bool tests_all() { return number_from_environment("EXACTILE_TEST_ALL_CONFIGURATIONS", 0) != 0; }

std::vector<KernelOfType> configurations_of(const KernelInfo& kernel) {
  std::vector<KernelOfType> all;
  for (std::size_t t = 0; t < kernel.types.size(); ++t) {
    const GemmTypes types = kernel.types[t];
    const std::vector<std::string> parameters = pinnable_parameters(kernel.name, types);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (tests_all() || i % kernel.types.size() == t)
        all.push_back({kernel.name, types, accuracy_kept(kernel, types), parameters[i]});
  }
  return all;
}

std::vector<KernelOfType> available_configurations() {
  std::vector<KernelOfType> all;
  for (const KernelInfo& kernel : kernels())
    if (kernel.available && kernel.backend == backend_with_kernels())
      for (KernelOfType& configuration : configurations_of(kernel)) all.push_back(std::move(configuration));
  return all;
}

std::vector<KernelOfType> planner_for_all_types() {
  std::set<std::string> types_with_kernels;
  for (const KernelInfo& kernel : kernels())
    if (kernel.backend == backend_with_kernels())
      for (const GemmTypes types : kernel.types) types_with_kernels.insert(to_string(types));
  std::vector<KernelOfType> all;
  for (const GemmTypes types : all_gemm_types()) {
    if (!types_with_kernels.contains(to_string(types))) continue;
    all.push_back({"", types});
    if (error_beyond_gamma(Accuracy::reduced, types.input) > 0) all.push_back({"", types, Accuracy::reduced});
  }
  return all;
}

namespace {

Result<Plan> plan_of(const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmOptions options = tested_options();
  options.kernel = kernel.kernel;
  options.accuracy = kernel.accuracy;
  options.parameters = kernel.parameters;
  return Plan::make(contiguous_case(kernel.types, m, n, k).description, options);
}

}  // namespace

bool takes(const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  return plan_of(kernel, m, n, k).ok();
}

Blocking blocking_of(const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Result<Plan> plan = plan_of(kernel, m, n, k);
  if (!plan.ok()) return {};
  std::string text(1, ' ');
  text += plan.value().summary().blocking;
  // A GPU's kernels cut C into tiles of BM x BN and K into steps of BK.
  const auto either = [&](const char* processor, const char* gpu) {
    return std::max(number_behind(text, processor), number_behind(text, gpu));
  };
  return {either(" MR=", " BM="), either(" NR=", " BN="), number_behind(text, " MC="), either(" KC=", " BK="),
          number_behind(text, " NC=")};
}

std::string test_name(const KernelOfType& kernel) {
  std::string name = (kernel.kernel.empty() ? "planner" : kernel.kernel) + "__" + to_string(kernel.types);
  if (kernel.accuracy != Accuracy::standard) name += "__" + std::string(to_string(kernel.accuracy));
  if (!kernel.parameters.empty()) name += "__" + kernel.parameters;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

void register_test(const std::string& suite, const std::string& name, std::function<void()> body) {
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [body = std::move(body)]() -> testing::Test* { return new RegisteredTest(body); });
}

std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 0);
}

}  // namespace exactile::test
