// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/packed.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "cpu/loops/a_block.hpp"
#include "cpu/loops/blocking.hpp"
#include "cpu/loops/c_tile.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/loops/tuned_blocking.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

template <class T>
class Packed final : public Product<T> {
 public:
  Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(sizeof(T)) * (a_buffers() * a_elements_ + threads_ * b_elements_);
  }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;

  /// One step of the ic and pc loops: which part of the product, and how C is updated.
  struct Step {
    Operands<T> data;
    ABlock<T> a;
    T beta;
    std::atomic<std::int64_t>* next_tile;  ///< of each block of columns: the first row tile nobody has taken
  };
  using Counters = std::unique_ptr<std::atomic<std::int64_t>[]>;

  /// A block of columns of one step, and this thread's packed copy of its part of B.
  struct Block {
    Range columns;
    std::int64_t panels;
    T* packed_b;
  };

  void run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const;
  void compute(const Step& step, T* packed_b, const Member& member) const;
  void multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const;
  void multiply_panel(const Step& step, const Block& block, std::int64_t index, Range terms, std::int64_t panel,
                      bool packing) const;
  /// The share of one panel in asking for the tile of A that follows tile `index`, and its tile of C.
  [[nodiscard]] Ahead<T> ahead_of(const Step& step, const Block& block, std::int64_t index, Range terms,
                                  std::int64_t panel, const T* c) const;
  /// Two where members may pack the next block while others read this one.
  [[nodiscard]] int a_buffers() const { return threads_ == 1 ? 1 : 2; }

  Blocking blocking_sizes_;
  AReader<T> a_;
  std::int64_t a_elements_;  ///< of one buffer of A
  std::int64_t b_elements_;  ///< of one thread's block of B
  int threads_;
  std::int64_t column_blocks_;  ///< blocks of nearly equal width, at least one for each thread where there are so many
};

template <class T>
BlockingModel blocking_of(const Orientation& o, const MicroKernels<T>& kernels) {
  const bool a_is_packed = a_source_of<T>(o) != ASource::in_place;
  return {.blocking = blocking_for(kernels.rows, kernels.vectors * kernels.lanes, sizeof(T), chunk_terms<T>, o.m, o.n,
                                   o.k, a_is_packed),
          .chunk = chunk_terms<T>,
          .a_is_packed = a_is_packed};
}

template <class T>
Packed<T>::Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      blocking_sizes_(tuned_blocking(name, problem, blocking_of(o_, kernels))),
      a_(o_, kernels, blocking_sizes_.mr),
      a_elements_(core::round_up(a_.elements(blocking_sizes_), 1024)),
      b_elements_(core::round_up(blocking_sizes_.nc * blocking_sizes_.kc, 1024)) {
  const std::int64_t tiles = core::ceil_divide(o_.m, blocking_sizes_.mr) * core::ceil_divide(o_.n, blocking_sizes_.nr);
  const double terms = static_cast<double>(o_.m) * static_cast<double>(o_.n) * static_cast<double>(o_.k);
  threads_ = useful_threads(terms, tiles, problem.threads);
  const std::int64_t panels = core::ceil_divide(o_.n, blocking_sizes_.nr);
  column_blocks_ = std::max(core::ceil_divide(panels, blocking_sizes_.nc / blocking_sizes_.nr),
                            std::min<std::int64_t>(threads_, panels));
  this->blocking_ = blocking_sizes_.text();
  const auto m = static_cast<double>(o_.m);
  const auto n = static_cast<double>(o_.n);
  const auto k = static_cast<double>(o_.k);
  this->model_bytes_ = static_cast<double>(sizeof(T)) * static_cast<double>(problem.description.batch_count) *
                       (m * k * static_cast<double>(a_.source() != ASource::in_place ? 1 : column_blocks_) +
                        k * n * static_cast<double>(core::ceil_divide(o_.m, blocking_sizes_.mc)) +
                        2 * m * n * static_cast<double>(core::ceil_divide(o_.k, blocking_sizes_.kc)));
}

template <class T>
Status Packed<T>::run(const GemmArguments& arguments, const Execution&) const {
  auto* scratch = static_cast<T*>(thread_scratch(workspace_bytes()));
  if (scratch == nullptr)
    return {StatusCode::out_of_memory, "no memory for packing: " + std::to_string(workspace_bytes()) + " bytes"};
  const Counters counters(new (std::nothrow) std::atomic<std::int64_t>[static_cast<std::size_t>(2 * column_blocks_)]);
  if (counters == nullptr) return {StatusCode::out_of_memory, "no memory for the counters of a team"};
  for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
    const Operands<T> data = this->operands(arguments, p);
    run_team(threads_, [&](const Member& member) { run_product(data, scratch, counters, member); });
  }
  this->finish(arguments);
  return {};
}

template <class T>
void Packed<T>::run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const {
  T* packed_b = scratch + a_buffers() * a_elements_ + member.id * b_elements_;
  int buffer = 0;
  for (std::int64_t ic = 0; ic < o_.m; ic += blocking_sizes_.mc) {
    const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
    for (std::int64_t pc = 0; pc < o_.k; pc += blocking_sizes_.kc) {
      // Two buffers: packing the next block may begin while slower members still read this one.
      T* packed_a = scratch + buffer * a_elements_;
      std::atomic<std::int64_t>* next_tile = counters.get() + buffer * column_blocks_;
      buffer = (buffer + 1) % a_buffers();
      const Step step{data,
                      {data.a, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, packed_a},
                      pc == 0 ? data.beta : T(1),
                      next_tile};
      if (member.id == 0) std::fill_n(next_tile, column_blocks_, 0);
      a_.fill(step.a, member);
      member.meet();
      compute(step, packed_b, member);
    }
  }
}

/// Each member starts on a block of columns of its own and takes its rows by and by; who is done helps where rows are
/// left. On a processor whose cores run at different speeds nobody waits long at the next meeting.
template <class T>
void Packed<T>::compute(const Step& step, T* packed_b, const Member& member) const {
  const std::int64_t tiles = a_.tiles(step.a);
  const std::int64_t panels = core::ceil_divide(o_.n, blocking_sizes_.nr);
  const std::int64_t at_once = member.count == 1 ? tiles : core::ceil_divide(tiles, 16);
  for (std::int64_t i = 0; i < column_blocks_; ++i) {
    const std::int64_t index = (member.id + i) % column_blocks_;
    const Range part = part_of(panels, column_blocks_, index);
    const Block block{{part.begin * blocking_sizes_.nr, std::min(part.end * blocking_sizes_.nr, o_.n)},
                      part.end - part.begin,
                      packed_b};
    std::atomic<std::int64_t>& next = step.next_tile[index];
    bool packing = true;
    for (std::int64_t tile = next.fetch_add(at_once, std::memory_order_relaxed); tile < tiles;
         tile = next.fetch_add(at_once, std::memory_order_relaxed)) {
      for (std::int64_t t = tile; t < std::min(tile + at_once, tiles); ++t) {
        multiply_row(step, block, t, packing);
        packing = false;
      }
    }
  }
}

/// Row tile `index` of the step times the block of columns. The first one a thread does packs B on the way.
template <class T>
void Packed<T>::multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const {
  for (std::int64_t p = step.a.terms.begin; p < step.a.terms.end; p += chunk_terms<T>)
    for (std::int64_t panel = 0; panel < block.panels; ++panel)
      multiply_panel(step, block, index, {p, std::min(p + chunk_terms<T>, step.a.terms.end)}, panel, packing);
}

template <class T>
Ahead<T> Packed<T>::ahead_of(const Step& step, const Block& block, std::int64_t index, Range terms, std::int64_t panel,
                             const T* c) const {
  const std::int64_t next = index + 1 < a_.tiles(step.a) ? index + 1 : 0;
  const Range rows = a_.row_tile(step.a, next);
  const Range mine = part_of(rows.end - rows.begin, block.panels, panel);
  const ATile<T> tile = a_.tile(step.a, rows, terms);
  return {.a = tile.first + mine.begin * tile.row_stride,
          .a_stride = tile.row_stride,
          .a_rows = static_cast<int>(mine.end - mine.begin),
          .lines = c,
          .line_stride = o_.c.row_stride,
          .line_rows = static_cast<int>(a_.row_tile(step.a, index).end - a_.row_tile(step.a, index).begin)};
}

/// One tile of C, one chunk of terms.
template <class T>
void Packed<T>::multiply_panel(const Step& step, const Block& block, std::int64_t index, Range terms,
                               std::int64_t panel, bool packing) const {
  const Range rows = a_.row_tile(step.a, index);
  const std::int64_t nr = blocking_sizes_.nr;
  const std::int64_t column = block.columns.begin + panel * nr;
  const std::int64_t width = std::min(nr, block.columns.end - column);
  const int height = static_cast<int>(rows.end - rows.begin);
  const int vectors = static_cast<int>(core::ceil_divide(width, kernels_.lanes));
  const std::int64_t last_lanes = width - (vectors - 1) * kernels_.lanes;
  const AOrder order = a_.order();
  const bool packs_itself = packing && width == nr && o_.b.column_stride == 1;
  const std::int64_t before = terms.begin - step.a.terms.begin;
  const std::int64_t k = terms.end - terms.begin;
  const T alpha = step.data.alpha;
  const T beta = before == 0 ? step.beta : T(1);
  const ATile<T> a = a_.tile(step.a, rows, terms);
  const T* b = step.data.b + terms.begin * o_.b.row_stride + column * o_.b.column_stride;
  T* packed_b = block.packed_b + before * block.panels * nr + panel * nr * k;
  if (packing && !packs_itself) kernels_.pack(b, o_.b.column_stride, o_.b.row_stride, width, nr, k, packed_b);
  const bool asks = !packs_itself && width == nr && c_is_row_contiguous(o_);
  T* c = step.data.c + (step.a.rows.begin + rows.begin) * o_.c.row_stride +
         column * (c_is_row_contiguous(o_) ? 1 : o_.c.column_stride);
  update_tile(c, o_, beta, height, width, !asks, [&](T* to, std::int64_t c_stride) {
    const TileShape shape{a.stride, packs_itself ? o_.b.row_stride : nr, c_stride, k, last_lanes};
    if (packs_itself) {
      kernels_.packing_tile(order, height)(shape, a.first, b, to, alpha, beta, packed_b);
    } else if (asks) {
      const Ahead<T> ahead = ahead_of(step, block, index, terms, panel, to);
      kernels_.asking_tile(order, height, vectors)(shape, a.first, packed_b, to, alpha, beta, ahead);
    } else {
      kernels_.tile(order, height, vectors, last_lanes != kernels_.lanes)(shape, a.first, packed_b, to, alpha, beta);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem, const MicroKernels<T>& kernels,
                                              std::string_view name) {
  return std::make_unique<Packed<T>>(problem, kernels, name);
}

template <class T>
std::string_view packed_refuses(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  if (problem.parameters.empty()) return {};
  return why_illegal_blocking(problem, blocking_of(preferred_orientation(problem.description), kernels));
}

template <class T>
double packed_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto m = static_cast<double>(core::round_up(o.m, 2));
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  const double arithmetic = m * n * k * 1.04 / terms_per_second(kernels);
  // B is packed on the way where its columns are neighbours; A may be read where it lies.
  const double packing = static_cast<double>(sizeof(T)) * pack_seconds *
                         ((a_source_of<T>(o) == ASource::in_place ? 0 : m * k) + (o.b.column_stride == 1 ? 0 : k * n));
  const double memory = first_reads(m, n, k, static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t tiles =
      core::ceil_divide(o.m, kernels.rows) * core::ceil_divide(o.n, kernels.vectors * kernels.lanes);
  const int threads = useful_threads(m * n * k, tiles, problem.threads);
  return ((arithmetic + packing + memory) / threads + 300e-9) * static_cast<double>(problem.description.batch_count);
}

template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<float>&,
                                                       std::string_view);
template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<double>&,
                                                       std::string_view);

template std::string_view packed_refuses(const plan::Problem&, const MicroKernels<float>&);
template std::string_view packed_refuses(const plan::Problem&, const MicroKernels<double>&);

template double packed_cost(const plan::Problem&, const MicroKernels<float>&);
template double packed_cost(const plan::Problem&, const MicroKernels<double>&);

}  // namespace exactile::cpu
