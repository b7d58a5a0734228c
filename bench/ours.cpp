// SPDX-License-Identifier: Apache-2.0
#include "ours.hpp"

#include <stdexcept>
#include <utility>

#include "exactile/devices.hpp"
#include "exactile/plan.hpp"

namespace exactile::bench {
namespace {

OperandLayout layout_of(const Layout& layout, std::int64_t batch) {
  const std::int64_t batch_stride = batch == 1 ? 0 : layout.elements();
  if (layout.transposed) return {layout.step, layout.leading, batch_stride};
  return {layout.leading, layout.step, batch_stride};
}

[[noreturn]] void fail(const Status& status) { throw std::runtime_error("exactile: " + std::string(status.message())); }

class Exactile final : public Contender {
 public:
  explicit Exactile(OurOptions options)
      : options_{.backend = std::move(options.backend), .kernel = std::move(options.kernel)} {
    if (options.context == nullptr) return;
    options_.memory = Memory::device;
    options_.device = options.context->device();
    execution_ = options.context->execution();
  }

  std::string version() const override { return "exactile " + std::string(exactile::version()); }
  void set_threads(int threads) override { options_.threads = threads; }

  std::unique_ptr<Call> prepare(const Product& p) const override {
    const GemmDescription description{.types = {p.type, p.output},
                                      .m = p.m,
                                      .n = p.n,
                                      .k = p.k,
                                      .a = layout_of(p.a, p.batch),
                                      .b = layout_of(p.b, p.batch),
                                      .c = layout_of(p.c, p.batch),
                                      .batch_count = p.batch};
    GemmOptions options = options_;
    options.accuracy = p.accuracy;
    Result<Plan> plan = Plan::make(description, options);
    if (plan.status().code() == StatusCode::unsupported) return nullptr;
    if (!plan.ok()) fail(plan.status());
    return make_call([plan = std::move(plan).value(), on = execution_](const void* a, const void* b, void* c) {
      if (const Status status = plan.run({.a = a, .b = b, .c = c}, on); !status.ok()) fail(status);
    });
  }

 private:
  GemmOptions options_;
  Execution execution_;
};

}  // namespace

std::unique_ptr<Contender> make_exactile(OurOptions options) { return std::make_unique<Exactile>(std::move(options)); }

}  // namespace exactile::bench
