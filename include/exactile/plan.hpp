// SPDX-License-Identifier: Apache-2.0
/// \file
/// The untyped face of the library, for bindings and for products done many times: describe once, plan once, run often.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "exactile/accuracy.hpp"
#include "exactile/backend.hpp"
#include "exactile/epilogue.hpp"
#include "exactile/error_bound.hpp"
#include "exactile/status.hpp"
#include "exactile/types.hpp"

namespace exactile {

/// Where the elements of one operand lie; strides count elements. Element (i, j) of product p is
/// base[p * batch_stride + i * row_stride + j * column_stride], or pointers[p][...] where `pointer_array` is set.
/// A and B, and a C beside D: any strides; batch_stride 0 is one matrix for all products. The matrix that is written:
/// positive, no two elements at one place.
struct OperandLayout {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  std::int64_t batch_stride = 0;
  bool pointer_array = false;
  /// The product takes the complex conjugate of each element: A and B only, with transposed strides BLAS's 'C'. Ignored
  /// for real and integer types, whose elements are their own conjugates.
  bool conjugate = false;
  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

/// C <- activation(alpha * diag(row_scales) * A * B * diag(column_scales) + beta * C + bias) for `batch_count` products
/// of m x k by k x n. Where there is a layout `d`, the result goes to D and C is only read: D <- activation(... + beta
/// * C + bias); D has C's element type and may be C itself, with the same layout, but may not partly overlap it.
struct GemmDescription {
  GemmTypes types;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  OperandLayout a;
  OperandLayout b;
  OperandLayout c;
  std::optional<OperandLayout> d = {};  ///< none: C is written
  std::int64_t batch_count = 1;
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  bool row_scales = false;  ///< GemmArguments::row_scales is given; real floating types only
  bool column_scales = false;
  friend bool operator==(const GemmDescription&, const GemmDescription&) = default;
};

/// Where the operands of a run lie.
enum class Memory : std::uint8_t {
  host,    ///< ordinary memory; a device that has its own gets them moved
  device,  ///< memory of the device that computes; see Context
};

/// What a choice among kernels and their configurations rests on. Bits may differ where another kernel or
/// configuration is chosen.
enum class Planning : std::uint8_t {
  formula,   ///< each kernel's formula of its cost, and the coefficients that were fitted to it
  estimate,  ///< and on how long products nearby took when they were measured: rows that ship, the user's own. The
             ///< default
  measured,  ///< on timing the ways that the estimate ranks first, of several kernels (three; up to six of short
             ///< products that are ranked close together, as time allows) on operands of its own of the same layout, in
             ///< a GPU's memory so many copies that caches hold few of them. Once for a product on a device: the result
             ///< is kept in the user's tuning file, where `estimate` finds it, too. Costs ten calls and some 20 ms, and
             ///< memory for the operands; where that is not there, where matrices are given by pointers or all ways
             ///< fail, it is the estimate
};

[[nodiscard]] std::string_view to_string(Planning planning) noexcept;
[[nodiscard]] std::optional<Planning> parse_planning(std::string_view name) noexcept;

/// How the product is to be done. The default leaves every choice to the planner.
struct GemmOptions {
  Backend backend = Backend::automatic;
  std::string kernel = {};  ///< "" lets the planner choose; kernels() lists the names
  Accuracy accuracy = Accuracy::standard;
  Planning planning = Planning::estimate;
  /// Upper limit of threads; 0 takes EXACTILE_NUM_THREADS, else OMP_NUM_THREADS, else what the affinity mask and the
  /// cgroup quota allow. The bits of the result do not depend on it.
  int threads = 0;
  Memory memory = Memory::host;
  int device = 0;  ///< which of the backend's devices, as devices() counts them; the processor is device 0
  /// Sizes of a tunable kernel, "MWG=128 NWG=64 ...", in place of the measured ones; see tuning.hpp.
  std::string parameters = {};
  /// The bits of each element of C are a function of the types, k, alpha, beta, what is added, the row of A and the
  /// column of B alone: whatever m, n and the batch are, and for every layout, number of threads and planning. On the
  /// CPU (the same with AVX2 and AVX-512), and on CUDA for real types (the same on GPUs of one compute capability): see
  /// docs/accuracy.md. OpenCL refuses floating types. Any accuracy can have it.
  bool reproducible = false;
  friend bool operator==(const GemmOptions&, const GemmOptions&) = default;
};

/// alpha or beta, held without loss whatever the type of the product. Its imaginary part may be other than 0 where the
/// product is complex. A real factor multiplies both parts of a complex number (so Inf stays Inf, and 1 changes
/// nothing); another one multiplies by the definition (x + yi)(a + bi) = (xa - yb) + (xb + ya)i, where Inf may meet 0.
class Scalar {
 public:
  constexpr Scalar(double value) noexcept : real_(value) {}  // NOLINT(*-explicit-*)
  constexpr Scalar(std::complex<double> value) noexcept      // NOLINT(*-explicit-*)
      : real_(value.real()), imaginary_(value.imag()) {}
  constexpr Scalar(std::complex<float> value) noexcept  // NOLINT(*-explicit-*)
      : real_(static_cast<double>(value.real())), imaginary_(static_cast<double>(value.imag())) {}
  template <class T>
    requires std::is_integral_v<T>
  constexpr Scalar(T value) noexcept  // NOLINT(*-explicit-*)
      : real_(static_cast<double>(value)), integer_(static_cast<std::int64_t>(value)), is_integer_(true) {}

  [[nodiscard]] constexpr bool is_zero() const noexcept {
    return is_integer_ ? integer_ == 0 : (real_ == 0.0 && imaginary_ == 0.0);
  }
  [[nodiscard]] constexpr bool is_real() const noexcept { return imaginary_ == 0.0; }
  /// Whether the value is an integer that fits in 64 bits.
  [[nodiscard]] constexpr bool is_integral() const noexcept {
    return is_integer_ || (is_real() && real_ >= -0x1p63 && real_ < 0x1p63 &&
                           static_cast<double>(static_cast<std::int64_t>(real_)) == real_);
  }
  /// The value as T: rounded to a floating T, modulo 2^w for an integer T (is_integral() must hold).
  template <class T>
  [[nodiscard]] constexpr T as() const noexcept {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(is_integer_ ? integer_ : static_cast<std::int64_t>(real_));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real_);
    } else {
      return T(static_cast<typename T::value_type>(real_), static_cast<typename T::value_type>(imaginary_));
    }
  }

 private:
  double real_ = 0;
  double imaginary_ = 0;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

/// One of the two matrices that are multiplied.
enum class Operand : std::uint8_t { a, b };

[[nodiscard]] std::string_view to_string(Operand operand) noexcept;

class PreparedOperand;

/// The data of one run. For an operand whose layout says `pointer_array`, the pointer given here is the array:
/// a const void* const* for A and B, a void* const* for C, passed as it is.
struct GemmArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  Scalar alpha = 1;
  Scalar beta = 0;
  const void* bias = nullptr;  ///< elements of C's type, contiguous, shared by all products of a batch; needed where
                               ///< the description has a bias
  /// In place of `a` and `b`, which are then null: what Plan::prepare() made of them.
  const PreparedOperand* prepared_a = nullptr;
  const PreparedOperand* prepared_b = nullptr;
  /// A factor for each row of A (m of them) and for each column of B (n of them): f8 products per token and per
  /// channel. Contiguous, of the type that sums (f32, but f64 for f64), shared by all products of a batch, and needed
  /// where the description says so; without its flag a pointer is ignored. Each finished sum is multiplied by the row's
  /// factor first, then by the column's, each product rounded, before alpha, beta and bias: as factors, so Inf times a
  /// sum of 0 is NaN. Not read where alpha or k is zero.
  const void* row_scales = nullptr;
  const void* column_scales = nullptr;
  void* d = nullptr;  ///< needed where the description has a layout of D; `c` is then only read, and only if beta != 0
};

/// On which of the device's queues a run is enqueued, and with whose scratch memory. Means nothing to the CPU.
/// interop/cuda.hpp and interop/opencl.hpp make one from a stream or a command queue; Context::execution() from a
/// context. Where `workspace` is null the library takes what it needs from a pool of the device, in stream order.
struct Execution {
  void* queue = nullptr;      ///< null: the device's default queue
  void* workspace = nullptr;  ///< device memory, aligned to 256 bytes, not used by another run at the same time
  std::int64_t workspace_bytes = 0;
  /// Device memory of PlanSummary::paths.size() numbers, std::uint64_t each: the run adds to each what it computed by
  /// that path. Enqueued with the run, so it can be captured, and shared by runs at the same time. Null: not counted.
  void* path_counts = nullptr;
};

/// What the planner thought of one of a kernel's configurations.
struct ConfigurationEstimate {
  std::string parameters = {};  ///< "BM=128 BN=256", as GemmOptions::parameters takes them
  double seconds = 0;           ///< as Candidate::cost_seconds
};

/// What the planner thought of one kernel.
struct Candidate {
  std::string kernel = {};
  Backend backend = Backend::cpu;
  bool chosen = false;
  bool supported = false;
  std::string reason = {};  ///< why it was chosen, why it refused, or why it lost
  double cost_seconds = 0;  ///< the planner's estimate: it ranks kernels, and is no prediction; 0 where it refused
  std::vector<ConfigurationEstimate> configurations = {};  ///< the first three, cheapest first; none where it has one
};

/// One of the ways in which a kernel may compute parts of C, depending on the data.
struct Path {
  std::string name = {};    ///< "f16x3"
  std::string counts = {};  ///< what Execution::path_counts counts: "tiles", "elements"
  std::string when = {};    ///< which parts of C, and why
};

struct PlanSummary {
  std::string kernel = {};               ///< "" where there is nothing to multiply
  Backend backend = Backend::automatic;  ///< automatic where there is nothing to multiply
  std::string blocking = {};             ///< e.g. "MR=12 NR=32 MC=192 KC=256 NC=4096"
  std::string accumulator = {};          ///< e.g. "f32"
  int threads = 1;
  std::int64_t workspace_bytes = 0;  ///< scratch of one run, all threads together; what Execution::workspace must hold
  double operations = 0;             ///< of one run
  double model_bytes = 0;            ///< what the kernel's traffic model says it moves through the level it blocks for
  double minimum_bytes = 0;          ///< each input read once, the output written once (and read, if beta != 0)
  std::vector<Candidate> candidates = {};  ///< in the planner's order; the chosen one among them
  std::vector<Path> paths = {};            ///< those that the data decide on; none where there is only one
};

namespace detail {
class PlanState;
struct PreparedState;
/// Runs a product that is over in nanoseconds; false where there is more to it, or the arguments need a closer look:
/// nothing has happened then. What it takes comes in registers: a compiler fills GemmArguments with vector stores, and
/// those wait behind the multiply-adds of the product before.
[[nodiscard]] bool run_quickly(const PlanState& state, const void* a, const void* b, void* c, double alpha,
                               double beta);
[[nodiscard]] Status run(const PlanState& state, const GemmArguments& arguments, const Execution& execution);
/// Whether run_quickly() may be tried: real factors, and no operand that was prepared.
[[nodiscard]] inline bool is_plain(const GemmArguments& arguments) {
  return arguments.alpha.is_real() && arguments.beta.is_real() && arguments.prepared_a == nullptr &&
         arguments.prepared_b == nullptr;
}
}  // namespace detail

/// An input of a product in the form that a kernel reads, so that many runs need not bring it there each time: weights
/// that meet many inputs. Plan::prepare() makes it. Cheap to copy; safe to share between threads and queues.
///
/// It also refers to the elements it was made of, and a run may read those too: they stay where they are and as they
/// are as long as it is used. The object through which they were handed over stays too, where there is one: a pointer
/// array, or a BufferSpan of interop/opencl.hpp. What a run computes after they have changed is a mixture of old and
/// new; prepare again. What is in device memory is freed with the last copy, after the work enqueued on the device; a
/// captured graph needs it for as long as it is launched.
class PreparedOperand {
 public:
  [[nodiscard]] Operand operand() const noexcept;
  /// Memory that it holds; 0 where the kernel has nothing to prepare and reads the elements themselves.
  [[nodiscard]] std::int64_t bytes() const noexcept;

 private:
  friend class Plan;
  friend class detail::PlanState;
  explicit PreparedOperand(std::shared_ptr<const detail::PreparedState> state) : state_(std::move(state)) {}
  std::shared_ptr<const detail::PreparedState> state_;
};

/// A product whose kernel, blocking and threads are settled. Cheap to copy; run() is const and may be called from many
/// threads at once as long as their C operands do not overlap.
class Plan {
 public:
  /// Fails with any code but device_failure; with invalid_argument for sizes, strides, overlapping C or the device.
  [[nodiscard]] static Result<Plan> make(const GemmDescription& description, const GemmOptions& options = {});

  /// Meaning, for every type and kernel: beta = 0 never reads C; alpha = 0 never reads A or B; k = 0 gives beta*C;
  /// m, n or batch_count = 0 does nothing; NaN and Inf come out as the plain loop's. What is written must not share an
  /// element with A, B, the bias or the scales: that is refused, except between different products of a pointer array,
  /// where that is the caller's promise.
  ///
  /// The processor's kernels need 64 KiB of the calling thread's stack. They work in exit handlers and in destructors
  /// of static and thread-local objects, and in children of fork().
  ///
  /// With operands in host memory run() returns when C is written. With Memory::device it enqueues the work and
  /// returns; pointers (a pointer array and what it points to, the bias and the scales) are device memory, the caller
  /// promises that it lives until the work is done, and an error of the device itself may surface in a later call.
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution = {}) const {
    if (detail::is_plain(arguments) &&
        run_quickly(arguments.a, arguments.b, arguments.c, arguments.alpha.as<double>(), arguments.beta.as<double>()))
      return {};
    return detail::run(*state_, arguments, execution);
  }

  /// For bindings, where GemmArguments would cost more than the product: runs one that is over in nanoseconds, and has
  /// no bias and no scales. False where there is more to it, or the arguments need a closer look: nothing has happened
  /// then, and run() does it or says what is wrong.
  [[nodiscard]] bool run_quickly(const void* a, const void* b, void* c, double alpha, double beta) const {
    return detail::run_quickly(*state_, a, b, c, alpha, beta);
  }

  /// Brings A or B once into the form that this plan's kernel reads. `elements` is what GemmArguments would take.
  /// A run that is given the answer in place of the pointer leaves the same bits, sooner. Every kernel takes it: one
  /// that has nothing to prepare keeps the pointer.
  ///
  /// Another plan takes it too, if kernel, device, and this operand's sizes, layout and batch are the same, whatever
  /// the other operand is; one that does not says what is different (invalid_argument).
  ///
  /// Returns when the work is done, behind all that was enqueued on `execution.queue`, so any queue may use it at
  /// once; hence not to be called while that queue is captured. Fails with out_of_memory where the form does not fit.
  [[nodiscard]] Result<PreparedOperand> prepare(Operand operand, const void* elements,
                                                const Execution& execution = {}) const;

  [[nodiscard]] const GemmDescription& description() const noexcept;
  /// How wrong an element may be, as the accuracy promises, before anything is computed.
  [[nodiscard]] AprioriBound error_bound() const noexcept;
  /// The kernel's name; empty where there is nothing to multiply.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// PlanSummary::workspace_bytes.
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept;
  /// Judges every kernel of every backend, and looks for their devices to do so.
  [[nodiscard]] PlanSummary summary() const;
  /// The summary as text for a person: which kernel, its blocking, and why every other candidate refused or lost.
  [[nodiscard]] std::string explain() const;

 private:
  explicit Plan(std::shared_ptr<const detail::PlanState> state) : state_(std::move(state)) {}
  std::shared_ptr<const detail::PlanState> state_;
};

/// Plan and run once. A thread remembers the plans of its last calls, 64 at most, and a call with the description and
/// the options of one of them runs that: it costs some 40 ns more than Plan::run(), where planning costs a microsecond
/// or more. They go with the thread. Settings from the environment other than the number of threads count where a plan
/// is made.
[[nodiscard]] Status gemm(const GemmDescription& description, const GemmArguments& arguments,
                          const GemmOptions& options = {}, const Execution& execution = {});

}  // namespace exactile
