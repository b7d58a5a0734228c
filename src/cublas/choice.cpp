// SPDX-License-Identifier: Apache-2.0
#include "cublas/choice.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "cuda/backend.hpp"

namespace exactile::cublas {
namespace {

/// cuBLAS multiplies f32 on the CUDA cores, and the library's kernels that do so are as fast as its own, from small
/// sizes to large ones (docs/performance.md): their estimate stands for cuBLAS's time.
constexpr std::string_view on_cuda_cores = "simt_";

/// Four real multiply-adds for each complex one, at the rate of real products of so many: m x 2n x 2k.
GemmDescription in_real_numbers(const GemmDescription& description) {
  const auto real = [](std::int64_t rows, std::int64_t columns) {
    return OperandLayout{.row_stride = columns, .column_stride = 1, .batch_stride = rows * columns};
  };
  GemmDescription d = description;
  d.types = {ElementType::f32, ElementType::f32};
  d.n *= 2;
  d.k *= 2;
  d.a = real(d.m, d.k);
  d.b = real(d.k, d.n);
  d.c = real(d.m, d.n);
  return d;
}

Result<Plan> plan_on(int device, const GemmDescription& description) {
  return Plan::make(description, {.backend = Backend::cuda, .memory = Memory::device, .device = device});
}

/// Of cuBLAS; infinite where nothing is known of it.
double seconds_of_cublas(const Plan& plan, int device) {
  if (is_complex(plan.description().types.input)) {
    const auto real = plan_on(device, in_real_numbers(plan.description()));
    return real ? seconds_of_cublas(*real, device) : std::numeric_limits<double>::infinity();
  }
  double seconds = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : plan.summary().candidates)
    if (candidate.supported && candidate.kernel.starts_with(on_cuda_cores))
      seconds = std::min(seconds, candidate.cost_seconds);
  return seconds;
}

void choose(const GemmDescription& description, int device, Choice& choice) {
  auto plan = plan_on(device, description);
  if (!plan) {
    choice.reason = plan.error().message();
    return;
  }
  const std::vector<Candidate> candidates = plan->summary().candidates;
  const double ours = std::ranges::find(candidates, true, &Candidate::chosen)->cost_seconds;
  const double theirs = seconds_of_cublas(*plan, device);
  // A call of ours keeps the host about that long, with its event, its side kernels and its tensor maps: programs that
  // wait for their calls and not for the device would lose what is less.
  const double call = cuda::offload().link(device).round_trip_seconds;
  if (ours + call < theirs)
    choice.plan = *std::move(plan);
  else
    choice.reason = "no kernel is estimated to be faster than cuBLAS";
}

struct Key {
  GemmDescription description;
  int device;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Hash {
  std::size_t operator()(const Key& key) const noexcept {
    const GemmDescription& d = key.description;
    std::uint64_t sum = 0;
    for (const std::int64_t value : {d.m, d.n, d.k, d.batch_count, d.a.row_stride, d.a.column_stride, d.a.batch_stride,
                                     d.b.row_stride, d.b.column_stride, d.b.batch_stride, d.c.row_stride,
                                     d.c.column_stride, d.c.batch_stride, std::int64_t{key.device}}) {
      sum = (sum ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
      sum ^= sum >> 32;
    }
    return static_cast<std::size_t>(sum);
  }
};

/// Never destroyed: products run while the process ends.
struct Choices {
  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<const Choice>, Hash> known;
};
Choices& choices() {
  static auto& all = *new Choices;
  return all;
}

}  // namespace

std::shared_ptr<const Choice> known_choice(const GemmDescription& description, int device) {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  const auto found = all.known.find({description, device});
  return found == all.known.end() ? nullptr : found->second;
}

std::shared_ptr<const Choice> choice_for(const GemmDescription& description, int device) {
  constexpr std::size_t most = 4096;
  if (auto known = known_choice(description, device)) return known;
  Choices& all = choices();
  const Key key{description, device};
  // Not under the lock: it opens libraries, and two threads that choose the same choose alike.
  auto made = std::make_shared<Choice>();
  choose(description, device, *made);
  const std::lock_guard lock(all.mutex);
  if (all.known.size() == most) all.known.clear();
  return all.known.try_emplace(key, std::move(made)).first->second;
}

}  // namespace exactile::cublas
