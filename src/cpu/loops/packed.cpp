// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/packed.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "cpu/loops/blocking.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t largest_tile = 1024;  ///< elements; MR x NR of every instruction set fits

template <class T>
class Packed final : public Product<T> {
 public:
  Packed(const plan::Problem& problem, const MicroKernels<T>& kernels);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(sizeof(T)) * (2 * a_elements_ + threads_ * b_elements_);
  }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;
  using Kernel = typename MicroKernels<T>::Kernel;

  /// One step of the ic and pc loops: which part of the product, and how C is updated.
  struct Step {
    Operands<T> data;
    Range rows;
    Range terms;
    const T* packed_a;
    T beta;
    std::atomic<std::int64_t>* next_tile;  ///< of each block of columns: the first row tile nobody has taken
  };
  using Counters = std::unique_ptr<std::atomic<std::int64_t>[]>;

  void run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const;
  void pack_a(const Step& step, T* packed, const Member& member) const;
  void compute(const Step& step, T* packed_b, const Member& member) const;
  void pack_b(const Step& step, Range columns, T* packed) const;
  void macro_kernel(const Step& step, Range tiles, Range columns, const T* packed_b) const;
  void prefetch(const T* from, std::int64_t elements) const;
  void run_tile(const Tile<T>& tile, Kernel kernel, int rows, std::int64_t columns) const;

  [[nodiscard]] std::int64_t tiles_of(Range rows) const {
    return core::ceil_divide(rows.end - rows.begin, blocking_sizes_.mr);
  }

  Blocking blocking_sizes_;
  std::int64_t a_elements_;  ///< of one buffer of A
  std::int64_t b_elements_;  ///< of one thread's block of B
  int threads_;
  std::int64_t column_blocks_;  ///< blocks of nearly equal width, at least one for each thread where there are so many
};

template <class T>
Packed<T>::Packed(const plan::Problem& problem, const MicroKernels<T>& kernels)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      blocking_sizes_(
          blocking_for(kernels.rows, kernels.vectors * kernels.lanes, sizeof(T), chunk_terms<T>, o_.m, o_.n, o_.k)),
      a_elements_(core::round_up(blocking_sizes_.mc * blocking_sizes_.kc, 1024)),
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
                       (m * k + k * n * static_cast<double>(core::ceil_divide(o_.m, blocking_sizes_.mc)) +
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
  T* packed_b = scratch + 2 * a_elements_ + member.id * b_elements_;
  int buffer = 0;
  for (std::int64_t ic = 0; ic < o_.m; ic += blocking_sizes_.mc) {
    const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
    for (std::int64_t pc = 0; pc < o_.k; pc += chunk_terms<T>) {
      // Two buffers: packing the next block may begin while slower members still read this one.
      T* packed_a = scratch + buffer * a_elements_;
      std::atomic<std::int64_t>* next_tile = counters.get() + buffer * column_blocks_;
      buffer ^= 1;
      const Step step{data,     rows, {pc, std::min(pc + chunk_terms<T>, o_.k)}, packed_a, pc == 0 ? data.beta : T(1),
                      next_tile};
      if (member.id == 0) std::fill_n(next_tile, column_blocks_, 0);
      pack_a(step, packed_a, member);
      member.meet();
      compute(step, packed_b, member);
    }
  }
}

template <class T>
void Packed<T>::pack_a(const Step& step, T* packed, const Member& member) const {
  const std::int64_t height = step.rows.end - step.rows.begin;
  const std::int64_t terms = step.terms.end - step.terms.begin;
  const std::int64_t tiles = tiles_of(step.rows);
  const Range mine = part_of(tiles, member.count, member.id);
  const T* from = step.data.a + step.rows.begin * o_.a.row_stride + step.terms.begin * o_.a.column_stride;
  for (std::int64_t tile = mine.begin; tile < mine.end; ++tile) {
    const Range part = part_of(height, tiles, tile);
    kernels_.pack(from + part.begin * o_.a.row_stride, o_.a.row_stride, o_.a.column_stride, part.end - part.begin,
                  part.end - part.begin, terms, packed + part.begin * terms);
  }
}

/// Each member starts on a block of columns of its own and takes its rows by and by; who is done helps where rows are
/// left. On a processor whose cores run at different speeds nobody waits long at the next meeting.
template <class T>
void Packed<T>::compute(const Step& step, T* packed_b, const Member& member) const {
  const std::int64_t tiles = tiles_of(step.rows);
  const std::int64_t panels = core::ceil_divide(o_.n, blocking_sizes_.nr);
  const std::int64_t at_once = member.count == 1 ? tiles : core::ceil_divide(tiles, 16);
  for (std::int64_t i = 0; i < column_blocks_; ++i) {
    const std::int64_t block = (member.id + i) % column_blocks_;
    const Range part = part_of(panels, column_blocks_, block);
    const Range columns{part.begin * blocking_sizes_.nr, std::min(part.end * blocking_sizes_.nr, o_.n)};
    std::atomic<std::int64_t>& next = step.next_tile[block];
    bool packed = false;
    for (std::int64_t tile = next.fetch_add(at_once, std::memory_order_relaxed); tile < tiles;
         tile = next.fetch_add(at_once, std::memory_order_relaxed)) {
      if (!packed) pack_b(step, columns, packed_b);
      packed = true;
      macro_kernel(step, {tile, std::min(tile + at_once, tiles)}, columns, packed_b);
    }
  }
}

template <class T>
void Packed<T>::pack_b(const Step& step, Range columns, T* packed) const {
  const std::int64_t nr = blocking_sizes_.nr;
  const std::int64_t terms = step.terms.end - step.terms.begin;
  const T* from = step.data.b + step.terms.begin * o_.b.row_stride + columns.begin * o_.b.column_stride;
  kernels_.pack(from, o_.b.column_stride, o_.b.row_stride, columns.end - columns.begin, nr, terms, packed);
}

template <class T>
void Packed<T>::macro_kernel(const Step& step, Range tiles, Range columns, const T* packed_b) const {
  const std::int64_t nr = blocking_sizes_.nr;
  const std::int64_t height = step.rows.end - step.rows.begin;
  const std::int64_t terms = step.terms.end - step.terms.begin;
  const std::int64_t all_tiles = tiles_of(step.rows);
  const std::int64_t panels = core::ceil_divide(columns.end - columns.begin, nr);
  const std::int64_t last_width = columns.end - columns.begin - (panels - 1) * nr;
  const std::int64_t c_column_stride = c_is_row_contiguous(o_) ? 1 : o_.c.column_stride;
  for (std::int64_t t = tiles.begin; t < tiles.end; ++t) {
    const Range part = part_of(height, all_tiles, t);
    const int rows = static_cast<int>(part.end - part.begin);
    Tile<T> tile{step.packed_a + part.begin * terms,
                 rows,
                 packed_b,
                 nr,
                 step.data.c + (step.rows.begin + part.begin) * o_.c.row_stride + columns.begin * c_column_stride,
                 o_.c.row_stride,
                 terms,
                 kernels_.lanes,
                 step.data.alpha,
                 step.beta};
    // The next panel of A comes from L3 and would be waited for: each tile asks for its share of it.
    const T* next = tile.a + rows * terms;
    const std::int64_t share = core::ceil_divide(rows * terms, panels);
    const auto kernel = kernels_.tile(AOrder::columns, rows, kernels_.vectors, false);
    for (std::int64_t panel = 0; panel < panels - 1; ++panel) {
      prefetch(next, share);
      run_tile(tile, kernel, rows, nr);
      next += share;
      tile.b += nr * terms;
      tile.c += nr * c_column_stride;
    }
    const int vectors = static_cast<int>(core::ceil_divide(last_width, kernels_.lanes));
    tile.last_lanes = last_width - (vectors - 1) * kernels_.lanes;
    const auto last = kernels_.tile(AOrder::columns, rows, vectors, tile.last_lanes != kernels_.lanes);
    prefetch(next, share);
    run_tile(tile, last, rows, last_width);
  }
}

template <class T>
void Packed<T>::prefetch(const T* from, std::int64_t elements) const {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t p = 0; p < elements; p += line) __builtin_prefetch(from + p, 0, 2);
}

/// Where C's columns are neighbours the micro-kernel works on C itself, whose lines are asked for ahead of its last
/// term; elsewhere on a copy of the tile.
template <class T>
void Packed<T>::run_tile(const Tile<T>& tile, Kernel kernel, int rows, std::int64_t columns) const {
  if (c_is_row_contiguous(o_)) {
    const T* c = tile.c;
    for (int i = 0; i < rows; ++i, c += tile.c_stride)
      for (std::int64_t j = 0; j < columns; j += kernels_.lanes) __builtin_prefetch(c + j, 1);
    kernel(tile);
    return;
  }
  alignas(64) T copy[largest_tile];
  const auto for_each = [&](auto&& visit) {
    for (int i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        visit(copy[i * columns + j], tile.c[i * o_.c.row_stride + j * o_.c.column_stride]);
  };
  if (tile.beta != T(0)) for_each([](T& there, const T& here) { there = here; });
  Tile<T> on_copy = tile;
  on_copy.c = copy;
  on_copy.c_stride = columns;
  kernel(on_copy);
  for_each([](const T& there, T& here) { here = there; });
}

}  // namespace

template <class T>
std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Packed<T>>(problem, kernels);
}

template <class T>
double packed_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto m = static_cast<double>(core::round_up(o.m, 2));
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  const double arithmetic = m * n * k * 1.04 / terms_per_second(kernels);
  const double packing = static_cast<double>(sizeof(T)) * (m * k + k * n) * pack_seconds;
  const std::int64_t tiles =
      core::ceil_divide(o.m, kernels.rows) * core::ceil_divide(o.n, kernels.vectors * kernels.lanes);
  const int threads = useful_threads(m * n * k, tiles, problem.threads);
  return ((arithmetic + packing) / threads + 300e-9) * static_cast<double>(problem.description.batch_count);
}

template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<float>&);
template std::unique_ptr<plan::Executable> make_packed(const plan::Problem&, const MicroKernels<double>&);

template double packed_cost(const plan::Problem&, const MicroKernels<float>&);
template double packed_cost(const plan::Problem&, const MicroKernels<double>&);

}  // namespace exactile::cpu
