// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/packed.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "cpu/loops/blocking.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/loops/tuned_blocking.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t largest_tile = 1024;  ///< elements; MR x NR of every instruction set fits

template <class T>
class Packed final : public Product<T> {
 public:
  Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(sizeof(T)) * (2 * a_elements_ + threads_ * b_elements_);
  }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;

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

  /// A block of columns of one step, and this thread's packed copy of its part of B.
  struct Block {
    Range columns;
    std::int64_t panels;
    T* packed_b;
  };

  void run_product(const Operands<T>& data, T* scratch, const Counters& counters, const Member& member) const;
  void pack_a(const Step& step, T* packed, const Member& member) const;
  void compute(const Step& step, T* packed_b, const Member& member) const;
  void multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const;
  void multiply_panel(const Step& step, const Block& block, Range rows, std::int64_t panel, bool packing) const;
  /// `multiply(c, c_stride)` computes a tile.
  template <class Multiply>
  void run_tile(T* c, T beta, int rows, std::int64_t columns, const Multiply& multiply) const;

  [[nodiscard]] std::int64_t tiles_of(Range rows) const {
    return core::ceil_divide(rows.end - rows.begin, blocking_sizes_.mr);
  }

  Blocking blocking_sizes_;
  bool a_is_packed_;         ///< or read where it lies, along its rows
  std::int64_t a_elements_;  ///< of one buffer of A
  std::int64_t b_elements_;  ///< of one thread's block of B
  int threads_;
  std::int64_t column_blocks_;  ///< blocks of nearly equal width, at least one for each thread where there are so many
};

[[nodiscard]] bool a_must_be_packed(const Orientation& o) { return o.a.column_stride != 1 && o.k != 1; }

template <class T>
BlockingModel blocking_of(const Orientation& o, const MicroKernels<T>& kernels) {
  const bool a_is_packed = a_must_be_packed(o);
  return {.blocking = blocking_for(kernels.rows, kernels.vectors * kernels.lanes, sizeof(T), chunk_terms<T>, o.m, o.n,
                                   o.k, a_is_packed),
          .chunk = chunk_terms<T>,
          .a_is_packed = a_is_packed};
}

template <class T>
Packed<T>::Packed(const plan::Problem& problem, const MicroKernels<T>& kernels, std::string_view name)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      blocking_sizes_(tuned_blocking(name, problem, blocking_of(o_, kernels))),
      a_is_packed_(a_must_be_packed(o_)),
      a_elements_(a_is_packed_ ? core::round_up(blocking_sizes_.mc * blocking_sizes_.kc, 1024) : 0),
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
                       (m * k * static_cast<double>(a_is_packed_ ? 1 : column_blocks_) +
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
  T* packed_b = scratch + 2 * a_elements_ + member.id * b_elements_;
  int buffer = 0;
  for (std::int64_t ic = 0; ic < o_.m; ic += blocking_sizes_.mc) {
    const Range rows{ic, std::min(ic + blocking_sizes_.mc, o_.m)};
    for (std::int64_t pc = 0; pc < o_.k; pc += blocking_sizes_.kc) {
      // Two buffers: packing the next block may begin while slower members still read this one.
      T* packed_a = scratch + buffer * a_elements_;
      std::atomic<std::int64_t>* next_tile = counters.get() + buffer * column_blocks_;
      buffer ^= 1;
      const Step step{
          data, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, packed_a, pc == 0 ? data.beta : T(1), next_tile};
      if (member.id == 0) std::fill_n(next_tile, column_blocks_, 0);
      if (a_is_packed_) pack_a(step, packed_a, member);
      member.meet();
      compute(step, packed_b, member);
    }
  }
}

/// Chunk after chunk, each as panels of MR rows. Where A's rows are neighbours, several panels together read whole
/// lines of it; more of them would push each other out of L1.
template <class T>
void Packed<T>::pack_a(const Step& step, T* packed, const Member& member) const {
  const std::int64_t height = step.rows.end - step.rows.begin;
  const std::int64_t tiles = tiles_of(step.rows);
  const Range mine = part_of(tiles, member.count, member.id);
  const T* from = step.data.a + step.rows.begin * o_.a.row_stride;
  constexpr std::int64_t together = 16;
  for (std::int64_t p = step.terms.begin; p < step.terms.end; p += chunk_terms<T>) {
    const std::int64_t terms = std::min(chunk_terms<T>, step.terms.end - p);
    T* chunk = packed + (p - step.terms.begin) * height;
    const auto pack = [&](Range part) {  // tiles of one height
      if (part.begin == part.end) return;
      const std::int64_t begin = part_of(height, tiles, part.begin).begin;
      const Range last = part_of(height, tiles, part.end - 1);
      kernels_.pack(from + begin * o_.a.row_stride + p * o_.a.column_stride, o_.a.row_stride, o_.a.column_stride,
                    last.end - begin, last.end - last.begin, terms, chunk + begin * terms);
    };
    const std::int64_t taller = std::clamp(height % tiles, mine.begin, mine.end);
    for (std::int64_t t = mine.begin; t < taller; t += together) pack({t, std::min(t + together, taller)});
    for (std::int64_t t = taller; t < mine.end; t += together) pack({t, std::min(t + together, mine.end)});
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
  const Range part = part_of(step.rows.end - step.rows.begin, tiles_of(step.rows), index);
  for (std::int64_t panel = 0; panel < block.panels; ++panel) multiply_panel(step, block, part, panel, packing);
}

/// One tile of C, through the chunks of the step. `rows` count from the step's first.
template <class T>
void Packed<T>::multiply_panel(const Step& step, const Block& block, Range rows, std::int64_t panel,
                               bool packing) const {
  const std::int64_t nr = blocking_sizes_.nr;
  const std::int64_t column = block.columns.begin + panel * nr;
  const std::int64_t width = std::min(nr, block.columns.end - column);
  const int height = static_cast<int>(rows.end - rows.begin);
  const int vectors = static_cast<int>(core::ceil_divide(width, kernels_.lanes));
  const std::int64_t last_lanes = width - (vectors - 1) * kernels_.lanes;
  const AOrder order = a_is_packed_ ? AOrder::columns : AOrder::rows;
  const auto kernel = kernels_.tile(order, height, vectors, last_lanes != kernels_.lanes);
  const bool packs_itself = packing && width == nr && o_.b.column_stride == 1;
  const std::int64_t row = step.rows.begin + rows.begin;
  const T alpha = step.data.alpha;
  T beta = step.beta;
  T* c = step.data.c + row * o_.c.row_stride + column * (c_is_row_contiguous(o_) ? 1 : o_.c.column_stride);
  TileShape shape{a_is_packed_ ? height : o_.a.row_stride, 0, 0, 0, last_lanes};
  for (std::int64_t p = step.terms.begin; p < step.terms.end; p += chunk_terms<T>) {
    const std::int64_t before = p - step.terms.begin;
    shape.k = std::min(chunk_terms<T>, step.terms.end - p);
    const T* a = a_is_packed_ ? step.packed_a + before * (step.rows.end - step.rows.begin) + rows.begin * shape.k
                              : step.data.a + row * o_.a.row_stride + p;
    const T* b = step.data.b + p * o_.b.row_stride + column * o_.b.column_stride;
    T* packed_b = block.packed_b + before * block.panels * nr + panel * nr * shape.k;
    if (packing && !packs_itself) kernels_.pack(b, o_.b.column_stride, o_.b.row_stride, width, nr, shape.k, packed_b);
    run_tile(c, beta, height, width, [&](T* to, std::int64_t c_stride) {
      shape.c_stride = c_stride;
      shape.b_stride = packs_itself ? o_.b.row_stride : nr;
      if (packs_itself)
        kernels_.packing_tile(order, height)(shape, a, b, to, alpha, beta, packed_b);
      else
        kernel(shape, a, packed_b, to, alpha, beta);
    });
    beta = T(1);
  }
}

/// Where C's columns are neighbours the micro-kernel works on C itself, whose lines are asked for ahead of its last
/// term; elsewhere on a copy of the tile.
template <class T>
template <class Multiply>
void Packed<T>::run_tile(T* c, T beta, int rows, std::int64_t columns, const Multiply& multiply) const {
  if (c_is_row_contiguous(o_)) {
    const T* line = c;
    for (int i = 0; i < rows; ++i, line += o_.c.row_stride) {
      for (std::int64_t j = 0; j < columns; j += kernels_.lanes) __builtin_prefetch(line + j, 1);
      __builtin_prefetch(line + columns - 1, 1);  // rows that start within a line end in one more
    }
    multiply(c, o_.c.row_stride);
    return;
  }
  alignas(64) T copy[largest_tile];
  const auto for_each = [&](auto&& visit) {
    for (int i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        visit(copy[i * columns + j], c[i * o_.c.row_stride + j * o_.c.column_stride]);
  };
  if (beta != T(0)) for_each([](T& there, const T& here) { there = here; });
  multiply(copy, columns);
  for_each([](const T& there, T& here) { here = there; });
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
  // B is packed on the way where its rows are neighbours, A not at all where its rows are.
  const double packing = static_cast<double>(sizeof(T)) * pack_seconds *
                         ((a_must_be_packed(o) ? m * k : 0) + (o.b.column_stride == 1 ? 0 : k * n));
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
