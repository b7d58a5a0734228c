// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/model/team.hpp"
#include "cpu/small/few_terms.hpp"
#include "cpu/small/in_place.hpp"
#include "cpu/small/paged_b.hpp"
#include "cpu/small/panel.hpp"
#include "cpu/small/streamed_a.hpp"
#include "cpu/threads/team.hpp"
#include "plan/quick_call.hpp"

namespace exactile::cpu {
namespace {

/// B as micro-kernels read it: a copy has rows of whole vectors.
template <class T>
[[nodiscard]] Orientation as_read(Orientation o, std::int64_t lanes) {
  if (copies_b(o, sizeof(T))) {
    o.b.row_stride = core::round_up(o.n, lanes);
    o.b.column_stride = 1;
  }
  return o;
}

/// Of micro-kernels, noted in a plan. Noting one takes as long as finding it anew a few times; many take long anyway.
constexpr std::int64_t most_calls = 128;

template <class T>
class Direct final : public Product<T>, public plan::QuickProduct {
 public:
  Direct(const plan::Problem& problem, const MicroKernels<T>& kernels);
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] plan::QuickCall quick_call() const override;
  [[nodiscard]] int threads() const override { return threads_; }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;
  using Kernel = typename MicroKernels<T>::Kernel;

  /// A tile whose terms are one chunk. Addresses count from the operands' first elements.
  struct Call {
    TileShape shape;
    Kernel kernel;
    std::int64_t a;
    std::int64_t b;
    std::int64_t c;
  };

  /// What a plan holds of a quick product.
  struct Quick {
    TileShape shape;
    Kernel kernel;
    const std::vector<Call>* others;
  };
  template <bool exchanged, bool alone>
  static void run_quickly(const plan::QuickCall& call, const void* a, const void* b, void* c, double alpha,
                          double beta);
  static void run_quickly_by_copy(const plan::QuickCall& call, const void* a, const void* b, void* c, double alpha,
                                  double beta);
  static void run_calls(const std::vector<Call>& calls, const Operands<T>& data);

  template <class Visit>
  void visit_panel(const Panel<T>& panel, std::int64_t column, Range tiles, const Visit& visit) const;
  template <class Visit>
  void visit_tiles(std::int64_t part, std::int64_t parts, const Visit& visit) const;
  /// visit(data), with a copy of B that is as_read() in place of B.
  template <class Visit>
  void with_copy(const Operands<T>& data, const Visit& visit) const;
  void run_tiles(const Operands<T>& data, std::int64_t part, std::int64_t parts) const;
  void run_product(const Operands<T>& data) const;
  void run_products(const GemmArguments& arguments, Range products) const;

  OperandLayout given_b_;
  bool copies_b_;
  AOrder order_;
  std::int64_t width_;  ///< columns of a full panel
  std::int64_t full_panels_;
  Panel<T> full_;
  Panel<T> last_;
  int threads_;
  bool asks_for_a_;
  bool asks_for_b_;
  bool asks_for_c_;
  /// A small product's calls, on one thread each. The first begins with the operands' first elements.
  bool has_calls_ = false;
  Call first_{};
  std::vector<Call> others_;
};

template <class T>
Direct<T>::Direct(const plan::Problem& problem, const MicroKernels<T>& kernels)
    : Base(problem, kernels, as_read<T>(preferred_orientation(problem.description), kernels.lanes)),
      given_b_(preferred_orientation(problem.description).b),
      copies_b_(copies_b(preferred_orientation(problem.description), sizeof(T))),
      order_(a_by_columns(o_) ? AOrder::columns : AOrder::rows),
      width_(panel_width(o_, kernels)),
      full_panels_(o_.n / width_),
      full_(panel_of(o_, kernels, order_, full_panels_ > 0 ? width_ : 0)),
      last_(panel_of(o_, kernels, order_, o_.n % width_)),
      asks_for_a_(cpu::asks_for_a(o_, order_, kernels)),
      asks_for_b_(cpu::asks_for_b(o_, kernels)),
      asks_for_c_(cpu::asks_for_c(o_, kernels)) {
  const GemmDescription& d = problem.description;
  const std::int64_t parts = std::max(d.batch_count, full_.tiles + last_.tiles);
  threads_ = members(parts, problem.threads);
  const std::int64_t calls = full_panels_ * full_.tiles + last_.tiles;
  const bool whole_products = threads_ == 1 || d.batch_count >= threads_;
  const bool asks = asks_for_a_ || asks_for_b_ || asks_for_c_;
  if (whole_products && calls <= most_calls && o_.k <= chunk_terms<T> && !asks) {
    others_.reserve(static_cast<std::size_t>(calls - 1));
    visit_tiles(0, 1, [&](const TileShape& shape, Kernel kernel, std::int64_t a, std::int64_t b, std::int64_t c) {
      if (has_calls_) return others_.push_back({shape, kernel, a, b, c});
      first_ = {shape, kernel, a, b, c};
      has_calls_ = true;
    });
  }
  const std::int64_t rows = kernels.rows_of(static_cast<int>(width_ / kernels.lanes));
  this->blocking_ = fmt::format("MR={} NR={}", rows, width_);
  const double panels = static_cast<double>(core::ceil_divide(o_.n, width_));
  const double tiles = static_cast<double>(core::ceil_divide(o_.m, rows));
  const auto m = static_cast<double>(o_.m);
  const auto n = static_cast<double>(o_.n);
  const auto k = static_cast<double>(o_.k);
  this->model_bytes_ =
      static_cast<double>(sizeof(T)) * static_cast<double>(d.batch_count) * (m * k * panels + k * n * tiles + m * n);
}

template <class T>
template <class Visit>
void Direct<T>::visit_panel(const Panel<T>& panel, std::int64_t column, Range tiles, const Visit& visit) const {
  std::int64_t row = tiles.begin * panel.height + std::min(tiles.begin, panel.tall_tiles);
  for (std::int64_t t = tiles.begin; t < tiles.end; ++t) {
    const bool tall = t < panel.tall_tiles;
    visit(panel.shape, tall ? panel.tall : panel.plain, row * o_.a.row_stride, column, row * o_.c.row_stride + column);
    row += panel.height + (tall ? 1 : 0);
  }
}

/// Part `part` of `parts` of every panel's row tiles.
template <class T>
template <class Visit>
void Direct<T>::visit_tiles(std::int64_t part, std::int64_t parts, const Visit& visit) const {
  const auto mine = [&](const Panel<T>& panel) {
    return parts == 1 ? Range{0, panel.tiles} : part_of(panel.tiles, parts, part);
  };
  const Range tiles = mine(full_);
  if (o_.k <= few_terms) {
    // C is most of the traffic: it is walked along its rows, as memory lies.
    for (std::int64_t t = tiles.begin; t < tiles.end; ++t)
      for (std::int64_t p = 0; p < full_panels_; ++p) visit_panel(full_, p * width_, {t, t + 1}, visit);
  } else {
    for (std::int64_t p = 0; p < full_panels_; ++p) visit_panel(full_, p * width_, tiles, visit);
  }
  if (last_.vectors > 0) visit_panel(last_, full_panels_ * width_, mine(last_), visit);
}

template <class T>
template <class Visit>
inline void Direct<T>::with_copy(const Operands<T>& data, const Visit& visit) const {
  alignas(64) unsigned char room[most_copied_bytes];  // complex elements would be set to zero
  T* const copy = reinterpret_cast<T*>(room);
  kernels_.pack_b(data.b, given_b_.column_stride, given_b_.row_stride, o_.n, o_.b.row_stride, o_.k, copy);
  visit(Operands<T>{data.a, copy, data.c, data.alpha, data.beta});
}

template <class T>
void Direct<T>::run_tiles(const Operands<T>& data, std::int64_t part, std::int64_t parts) const {
  if (asks_for_a_) return multiply_streamed_a(o_, kernels_, data, part, parts);
  if (asks_for_b_) return multiply_paged_b(o_, kernels_, order_, data, part, parts);
  if (asks_for_c_) return multiply_few_terms(o_, kernels_, order_, data, part, parts);
  visit_tiles(part, parts, [&](const TileShape& chunk, Kernel kernel, std::int64_t a, std::int64_t b, std::int64_t c) {
    if (o_.k <= chunk_terms<T>) return kernel(chunk, data.a + a, data.b + b, data.c + c, data.alpha, data.beta);
    TileShape shape = chunk;
    T beta = data.beta;
    for (std::int64_t p = 0; p < o_.k; p += chunk_terms<T>) {
      shape.k = std::min(o_.k - p, chunk_terms<T>);
      kernel(shape, data.a + a + p * o_.a.column_stride, data.b + b + p * o_.b.row_stride, data.c + c, data.alpha,
             beta);
      beta = T(1);
    }
  });
}

/// On the calling thread.
template <class T>
inline void Direct<T>::run_product(const Operands<T>& data) const {
  const auto run = [this](const Operands<T>& read) {
    if (!has_calls_) return run_tiles(read, 0, 1);
    first_.kernel(first_.shape, read.a, read.b, read.c, read.alpha, read.beta);
    run_calls(others_, read);
  };
  copies_b_ ? with_copy(data, run) : run(data);
}

template <class T>
inline void Direct<T>::run_calls(const std::vector<Call>& calls, const Operands<T>& data) {
  for (const Call& call : calls)
    call.kernel(call.shape, data.a + call.a, data.b + call.b, data.c + call.c, data.alpha, data.beta);
}

/// Some of the batch on the calling thread. Of small products whose operands follow one another, nothing is read or
/// computed anew for each that is the same for all.
template <class T>
void Direct<T>::run_products(const GemmArguments& arguments, Range products) const {
  if (!has_calls_ || copies_b_ || o_.a.pointer_array || o_.b.pointer_array || o_.c.pointer_array) {
    for (std::int64_t p = products.begin; p < products.end; ++p) run_product(this->operands(arguments, p));
    return;
  }
  Operands<T> data = this->operands(arguments, products.begin);
  const Call first = first_;
  const std::int64_t a_step = o_.a.batch_stride;
  const std::int64_t b_step = o_.b.batch_stride;
  const std::int64_t c_step = o_.c.batch_stride;
  for (std::int64_t left = products.end - products.begin; left > 0; --left) {
    first.kernel(first.shape, data.a, data.b, data.c, data.alpha, data.beta);
    run_calls(others_, data);
    if (left == 1) break;  // the strides of a batch of one may be anything
    data.a += a_step;
    data.b += b_step;
    data.c += c_step;
  }
}

template <class T>
plan::QuickCall Direct<T>::quick_call() const {
  const GemmDescription& d = this->description_;
  if (std::is_integral_v<T> || !has_calls_ || d.batch_count != 1 || d.a.pointer_array || d.b.pointer_array ||
      d.c.pointer_array || d.bias != Bias::none || d.activation != Activation::none)
    return {};
  if (copies_b_) return {run_quickly_by_copy, this};
  const bool alone = others_.empty();
  // What is settled here is neither read nor branched on in the call.
  plan::QuickCall::Run* const how = o_.exchanged ? (alone ? run_quickly<true, true> : run_quickly<true, false>)
                                                 : (alone ? run_quickly<false, true> : run_quickly<false, false>);
  return {how, Quick{first_.shape, first_.kernel, &others_}};
}

template <class T>
template <bool exchanged, bool alone>
void Direct<T>::run_quickly(const plan::QuickCall& call, const void* a, const void* b, void* c, double alpha,
                            double beta) {
  const auto& quick = call.as<Quick>();
  const Operands<T> data{static_cast<const T*>(exchanged ? b : a), static_cast<const T*>(exchanged ? a : b),
                         static_cast<T*>(c), static_cast<Number<T>>(alpha), static_cast<Number<T>>(beta)};
  quick.kernel(quick.shape, data.a, data.b, data.c, data.alpha, data.beta);
  if constexpr (!alone) run_calls(*quick.others, data);
}

template <class T>
void Direct<T>::run_quickly_by_copy(const plan::QuickCall& call, const void* a, const void* b, void* c, double alpha,
                                    double beta) {
  const auto& self = *call.as<const Direct<T>*>();
  if (self.o_.exchanged) std::swap(a, b);
  self.run_product({static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c),
                    static_cast<Number<T>>(alpha), static_cast<Number<T>>(beta)});
}

template <class T>
Status Direct<T>::run(const GemmArguments& arguments, const Execution&) const {
  const std::int64_t products = this->description_.batch_count;
  if (threads_ == 1) {
    run_products(arguments, {0, products});
  } else {
    run_team(threads_, [&](const Member& member) {
      if (products >= member.count) {
        run_products(arguments, part_of(products, member.count, member.id));
      } else {
        const auto run = [&](const Operands<T>& data) { run_tiles(data, member.id, member.count); };
        for (std::int64_t p = 0; p < products; ++p)
          copies_b_ ? with_copy(this->operands(arguments, p), run) : run(this->operands(arguments, p));
      }
    });
  }
  this->finish(arguments);
  return {};
}

}  // namespace

template <class T>
std::unique_ptr<plan::Executable> make_direct(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Direct<T>>(problem, kernels);
}

#define EXACTILE_DIRECT(...) \
  template std::unique_ptr<plan::Executable> make_direct(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_PLAIN_KIND(EXACTILE_DIRECT)

}  // namespace exactile::cpu
