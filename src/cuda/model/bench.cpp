// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/bench.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "cuda/model/read_through.hpp"
#include "cuda/runtime/device.hpp"

namespace exactile::cuda::model {
namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t pool_bytes = std::int64_t{1} << 30;  ///< for each operand
constexpr std::int64_t workspace_bytes = std::int64_t{4} << 30;

std::int64_t rounded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// What A, B and C take of their pools.
std::array<std::int64_t, 3> bytes_of(const GemmDescription& d) {
  const std::int64_t in = size_in_bytes(d.types.input), out = size_in_bytes(d.types.output);
  return {rounded(in * d.m * d.k), rounded(in * d.k * d.n), rounded(out * d.m * d.n)};
}

/// Memory of the device, given back at the end.
class Pool {
 public:
  Status allocate(std::int64_t bytes) {
    return check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "cudaMalloc for operands to measure with");
  }
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

template <class T>
std::vector<std::byte> normal_elements(std::size_t count) {
  std::mt19937_64 dice(1);
  std::normal_distribution<float> normal;
  std::vector<std::byte> bytes(count * sizeof(T));
  auto* const elements = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < count; ++i) {
    constexpr float spread = 30;  // of integers
    if constexpr (std::is_integral_v<T>)
      elements[i] = static_cast<T>(std::lround(std::clamp(spread * normal(dice), -127.0F, 127.0F)));
    else
      elements[i] = T(normal(dice));
  }
  return bytes;
}

std::vector<std::byte> normal_elements(ElementType type, std::size_t count) {
  switch (type) {
    case ElementType::f64: return normal_elements<double>(count);
    case ElementType::f32: return normal_elements<float>(count);
    case ElementType::f16: return normal_elements<Float16>(count);
    case ElementType::bf16: return normal_elements<BFloat16>(count);
    case ElementType::f8e4m3: return normal_elements<Float8E4M3>(count);
    case ElementType::f8e5m2: return normal_elements<Float8E5M2>(count);
    case ElementType::i64: return normal_elements<std::int64_t>(count);
    case ElementType::i32: return normal_elements<std::int32_t>(count);
    case ElementType::i8: return normal_elements<std::int8_t>(count);
    case ElementType::cf32: return normal_elements<float>(2 * count);
    case ElementType::cf64: return normal_elements<double>(2 * count);
    case ElementType::u8:
    case ElementType::i16: break;
  }
  return {};
}

/// What a product may take by a configuration that nothing is known of, to choose how often it is run.
double guess(const GemmDescription& d, const Device& device) {
  constexpr double multiply_adds_of_sm = 64;  // in a clock
  return 1e-6 + static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) /
                    (multiply_adds_of_sm * device.sm_count * device.clock_hertz);
}

/// A graph of launches, ready to be run.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
    if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
  }
  template <class Enqueue>
  Status capture(cudaStream_t stream, Enqueue&& enqueue) {
    if (Status s = check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        !s.ok())
      return s;
    const Status enqueued = enqueue();
    const Status ended = check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    if (!enqueued.ok()) return enqueued;
    if (!ended.ok()) return ended;
    return check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  Status launch(cudaStream_t stream) { return check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

struct Bench::State {
  explicit State(const Device& d) : device(d), guard(d.index) {}
  ~State() {
    if (begin != nullptr) static_cast<void>(cudaEventDestroy(begin));
    if (end != nullptr) static_cast<void>(cudaEventDestroy(end));
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  }
  Status prepare(GemmTypes types) {
    if (!guard.status().ok()) return guard.status();
    if (Status s = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); !s.ok())
      return s;
    if (Status s = check(cudaEventCreate(&begin), "cudaEventCreate"); !s.ok()) return s;
    if (Status s = check(cudaEventCreate(&end), "cudaEventCreate"); !s.ok()) return s;
    for (Pool& pool : operands)
      if (Status s = pool.allocate(pool_bytes); !s.ok()) return s;
    if (Status s = workspace.allocate(workspace_bytes); !s.ok()) return s;
    constexpr std::size_t count = 5000011;  // repeated: no multiple of any row
    const std::vector<std::byte> elements = normal_elements(types.input, count);
    for (const std::size_t operand : {0U, 1U})
      for (std::int64_t at = 0; at < pool_bytes; at += static_cast<std::int64_t>(elements.size()))
        if (Status s = check(cudaMemcpy(operands[operand].data() + at, elements.data(),
                                        std::min(elements.size(), static_cast<std::size_t>(pool_bytes - at)),
                                        cudaMemcpyHostToDevice),
                             "cudaMemcpy");
            !s.ok())
          return s;
    return {};
  }

  const Device& device;
  DeviceGuard guard;
  std::array<Pool, 3> operands;  ///< of A, B and C
  Pool workspace;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  std::int64_t turn = 0;
  std::map<std::string, std::size_t> tries_of_new;  ///< by to_string(RatesKey)
};

bool Bench::fits(const GemmDescription& d) {
  return std::ranges::all_of(bytes_of(d), [](std::int64_t bytes) { return bytes <= pool_bytes; });
}

Bench::Bench(std::unique_ptr<State> state) : state_(std::move(state)) {}
Bench::~Bench() = default;

Result<std::unique_ptr<Bench>> Bench::open(const Device& device, GemmTypes types) {
  auto state = std::make_unique<State>(device);
  if (Status s = state->prepare(types); !s.ok()) return s;
  return std::unique_ptr<Bench>(new Bench(std::move(state)));
}

Result<double> Bench::time(const Kernel& kernel, const plan::Problem& problem, const Configuration& configuration,
                           double expected_seconds) {
  const GemmDescription& d = problem.description;
  constexpr double enough_seconds = 250e-6;
  constexpr int rounds = 3;
  State& s = *state_;
  if (!fits(d)) return Status(StatusCode::out_of_memory, "operands larger than the memory to measure with");
  const std::unique_ptr<DeviceProduct> product = kernel.make(problem, s.device, configuration);
  if (product->workspace_bytes() > workspace_bytes) return Status(StatusCode::out_of_memory, "too much workspace");
  const std::array<std::int64_t, 3> bytes = bytes_of(d);
  const std::int64_t sets = pool_bytes / *std::ranges::max_element(bytes);
  const std::int64_t uses = bytes[0] + bytes[1] + bytes[2] <= s.device.l2_bytes ? calls_of_operands : 1;
  const int runs =
      calls_of_operands * std::clamp(static_cast<int>(enough_seconds / expected_seconds / calls_of_operands), 1, 12);
  Graph graph;
  const Status captured = graph.capture(s.stream, [&]() -> Status {
    for (int run = 0; run < runs; ++run) {
      const std::int64_t set = s.turn++ / uses % sets;
      const GemmArguments arguments{.a = s.operands[0].data() + set * bytes[0],
                                    .b = s.operands[1].data() + set * bytes[1],
                                    .c = s.operands[2].data() + set * bytes[2]};
      if (Status launched =
              product->launch({.arguments = arguments, .workspace = s.workspace.data(), .stream = s.stream});
          !launched.ok())
        return launched;
    }
    return {};
  });
  if (!captured.ok()) return captured;
  if (Status warmed = graph.launch(s.stream); !warmed.ok()) return warmed;
  const std::byte* const unused = s.workspace.data() + workspace_bytes - 2 * s.device.l2_bytes;
  std::array<double, rounds> seconds{};
  for (double& of_round : seconds) {
    float milliseconds = 0;
    if (Status read = read_through(unused, 2 * s.device.l2_bytes, s.stream); !read.ok()) return read;
    static_cast<void>(cudaEventRecord(s.begin, s.stream));
    if (Status launched = graph.launch(s.stream); !launched.ok()) return launched;
    static_cast<void>(cudaEventRecord(s.end, s.stream));
    if (Status done = check(cudaEventSynchronize(s.end), "cudaEventSynchronize", kernel.name); !done.ok()) return done;
    static_cast<void>(cudaEventElapsedTime(&milliseconds, s.begin, s.end));
    of_round = 1e-3 * static_cast<double>(milliseconds) / runs;
  }
  std::ranges::sort(seconds);
  return seconds[rounds / 2];
}

Result<MeasuredProduct> Bench::measure(const GemmDescription& d, Accuracy accuracy,
                                       std::span<const Kernel* const> kernels, const DeviceModel& model,
                                       std::vector<Way>& ways, double within) {
  struct Try {
    const Kernel* kernel;
    Configuration configuration;
    double expected;
    bool is_new;  ///< to the formula
  };
  MeasuredProduct product{.description = d, .accuracy = accuracy, .times = {}};
  if (!fits(d)) return product;
  const Device& device = state_->device;
  const plan::Problem problem{.description = d, .accuracy = accuracy, .memory = Memory::device};
  std::vector<Try> tries;
  std::set<std::string> unknown;
  double least = std::numeric_limits<double>::infinity();
  for (const Kernel* kernel : kernels) {
    if (!can_do(*kernel, problem, device)) continue;
    for (const Candidate& candidate : kernel->candidates(problem, device)) {
      if (model.knows(*kernel, d, candidate)) {
        const double expected = model.formula(*kernel, d, candidate);
        tries.push_back({kernel, candidate.configuration, expected, false});
        least = std::min(least, expected);
        continue;
      }
      const std::string key = to_string(rates_key(*kernel, d.types.input, candidate, device));
      std::size_t& tries_of_key = state_->tries_of_new[key];
      if (unknown.insert(key).second) ++tries_of_key;  // whatever K is split into
      if (tries_of_key <= products_before_fit)
        tries.push_back({kernel, candidate.configuration, guess(d, device), true});
    }
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (const Try& attempt : tries) {
    if (!attempt.is_new && (std::isinf(least) || attempt.expected > within * least)) continue;
    const Result<double> seconds = time(*attempt.kernel, problem, attempt.configuration, attempt.expected);
    if (seconds.status().code() == StatusCode::out_of_memory) continue;
    if (!seconds.ok()) return seconds.status();
    auto way = std::ranges::find_if(ways, [&](const Way& w) {
      return w.kernel == attempt.kernel->name && w.configuration == attempt.configuration;
    });
    if (way == ways.end()) way = ways.insert(way, {std::string(attempt.kernel->name), attempt.configuration});
    product.times.push_back({static_cast<int>(way - ways.begin()), seconds.value()});
    fastest = std::min(fastest, seconds.value());
  }
  std::erase_if(product.times, [&](const Time& t) { return t.seconds > kept * fastest; });
  std::ranges::sort(product.times, {}, &Time::seconds);
  return product;
}

}  // namespace exactile::cuda::model
