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

constexpr double least_copied_bytes = 4 << 20;
constexpr std::int64_t least_copied_columns = 1024;
constexpr std::int64_t largest_tile = 1024;  ///< elements; MR x NR of every instruction set fits

/// How the micro-kernel reads A: where it lies, along its rows; from a copy of a block, whose rows lie one behind the
/// other; or from panels of MR rows, term after term.
enum class ASource : std::uint8_t { in_place, copied, packed };

/// From row to row of a copy: rows a multiple of 4 KiB apart would share one set of L1.
template <class T>
constexpr std::int64_t copy_stride = chunk_terms<T> + 64 / static_cast<std::int64_t>(sizeof(T));

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
  void copy_a(const Step& step, T* copy, const Member& member) const;
  void compute(const Step& step, T* packed_b, const Member& member) const;
  void multiply_row(const Step& step, const Block& block, std::int64_t index, bool packing) const;
  void multiply_panel(const Step& step, const Block& block, std::int64_t index, Range terms, std::int64_t panel,
                      bool packing) const;
  /// `multiply(c, c_stride)` computes a tile; `ask` for C's lines first.
  template <class Multiply>
  void run_tile(T* c, T beta, int rows, std::int64_t columns, bool ask, const Multiply& multiply) const;

  [[nodiscard]] std::int64_t tiles_of(Range rows) const {
    return core::ceil_divide(rows.end - rows.begin, blocking_sizes_.mr);
  }
  /// Row tile `index` of the step, counted from its first row.
  [[nodiscard]] Range row_tile(const Step& step, std::int64_t index) const {
    return part_of(step.rows.end - step.rows.begin, tiles_of(step.rows), index);
  }
  /// Where the micro-kernel finds a row tile's chunk of terms.
  struct ATile {
    const T* first;
    std::int64_t stride;      ///< as in TileShape
    std::int64_t row_stride;  ///< from one row's terms to the next one's; of a packed tile, any equal parts of it
  };
  [[nodiscard]] ATile a_tile(const Step& step, Range rows, Range terms) const;
  /// The share of one panel in asking for the tile of A that follows tile `index`, and its tile of C.
  [[nodiscard]] Ahead<T> ahead_of(const Step& step, const Block& block, std::int64_t index, Range terms,
                                  std::int64_t panel, const T* c) const;
  /// Two where members may pack the next block while others read this one.
  [[nodiscard]] int a_buffers() const { return threads_ == 1 ? 1 : 2; }

  Blocking blocking_sizes_;
  ASource a_source_;
  std::int64_t a_elements_ = 0;  ///< of one buffer of A
  std::int64_t b_elements_;      ///< of one thread's block of B
  int threads_;
  std::int64_t column_blocks_;  ///< blocks of nearly equal width, at least one for each thread where there are so many
};

[[nodiscard]] bool a_must_be_packed(const Orientation& o) { return o.a.column_stride != 1 && o.k != 1; }

/// An A that is read often from behind L2 is worth a copy: its rows lie on a page or more each, more pages than a
/// processor finds the addresses of without a walk through their tables.
template <class T>
[[nodiscard]] ASource a_source_of(const Orientation& o) {
  if (a_must_be_packed(o)) return ASource::packed;
  const double bytes = static_cast<double>(sizeof(T)) * static_cast<double>(o.m) * static_cast<double>(o.k);
  return bytes >= least_copied_bytes && o.n >= least_copied_columns ? ASource::copied : ASource::in_place;
}

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
      a_source_(a_source_of<T>(o_)),
      b_elements_(core::round_up(blocking_sizes_.nc * blocking_sizes_.kc, 1024)) {
  const std::int64_t chunks = core::ceil_divide(blocking_sizes_.kc, chunk_terms<T>);
  if (a_source_ == ASource::packed) a_elements_ = core::round_up(blocking_sizes_.mc * blocking_sizes_.kc, 1024);
  if (a_source_ == ASource::copied) a_elements_ = core::round_up(blocking_sizes_.mc * chunks * copy_stride<T>, 1024);
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
                       (m * k * static_cast<double>(a_source_ != ASource::in_place ? 1 : column_blocks_) +
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
      const Step step{
          data, rows, {pc, std::min(pc + blocking_sizes_.kc, o_.k)}, packed_a, pc == 0 ? data.beta : T(1), next_tile};
      if (member.id == 0) std::fill_n(next_tile, column_blocks_, 0);
      if (a_source_ == ASource::packed) pack_a(step, packed_a, member);
      if (a_source_ == ASource::copied) copy_a(step, packed_a, member);
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

/// Chunk after chunk, each as rows of copy_stride elements.
template <class T>
void Packed<T>::copy_a(const Step& step, T* copy, const Member& member) const {
  const std::int64_t height = step.rows.end - step.rows.begin;
  const Range mine = part_of(height, member.count, member.id);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const T* row = step.data.a + (step.rows.begin + i) * o_.a.row_stride;
    T* to = copy + i * copy_stride<T>;
    for (std::int64_t p = step.terms.begin; p < step.terms.end; p += chunk_terms<T>, to += height * copy_stride<T>)
      std::copy_n(row + p, std::min(chunk_terms<T>, step.terms.end - p), to);
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
  for (std::int64_t p = step.terms.begin; p < step.terms.end; p += chunk_terms<T>)
    for (std::int64_t panel = 0; panel < block.panels; ++panel)
      multiply_panel(step, block, index, {p, std::min(p + chunk_terms<T>, step.terms.end)}, panel, packing);
}

template <class T>
typename Packed<T>::ATile Packed<T>::a_tile(const Step& step, Range rows, Range terms) const {
  const std::int64_t height = step.rows.end - step.rows.begin;
  const std::int64_t before = terms.begin - step.terms.begin;
  const std::int64_t k = terms.end - terms.begin;
  switch (a_source_) {
    case ASource::packed: return {step.packed_a + before * height + rows.begin * k, rows.end - rows.begin, k};
    case ASource::copied:
      return {step.packed_a + (before / chunk_terms<T> * height + rows.begin) * copy_stride<T>, copy_stride<T>,
              copy_stride<T>};
    case ASource::in_place: break;
  }
  return {step.data.a + (step.rows.begin + rows.begin) * o_.a.row_stride + terms.begin, o_.a.row_stride,
          o_.a.row_stride};
}

template <class T>
Ahead<T> Packed<T>::ahead_of(const Step& step, const Block& block, std::int64_t index, Range terms, std::int64_t panel,
                             const T* c) const {
  const std::int64_t next = index + 1 < tiles_of(step.rows) ? index + 1 : 0;
  const Range rows = row_tile(step, next);
  const Range mine = part_of(rows.end - rows.begin, block.panels, panel);
  const ATile tile = a_tile(step, rows, terms);
  return {.a = tile.first + mine.begin * tile.row_stride,
          .a_stride = tile.row_stride,
          .a_rows = static_cast<int>(mine.end - mine.begin),
          .lines = c,
          .line_stride = o_.c.row_stride,
          .line_rows = static_cast<int>(row_tile(step, index).end - row_tile(step, index).begin)};
}

/// One tile of C, one chunk of terms.
template <class T>
void Packed<T>::multiply_panel(const Step& step, const Block& block, std::int64_t index, Range terms,
                               std::int64_t panel, bool packing) const {
  const Range rows = row_tile(step, index);
  const std::int64_t nr = blocking_sizes_.nr;
  const std::int64_t column = block.columns.begin + panel * nr;
  const std::int64_t width = std::min(nr, block.columns.end - column);
  const int height = static_cast<int>(rows.end - rows.begin);
  const int vectors = static_cast<int>(core::ceil_divide(width, kernels_.lanes));
  const std::int64_t last_lanes = width - (vectors - 1) * kernels_.lanes;
  const AOrder order = a_source_ == ASource::packed ? AOrder::columns : AOrder::rows;
  const bool packs_itself = packing && width == nr && o_.b.column_stride == 1;
  const std::int64_t before = terms.begin - step.terms.begin;
  const std::int64_t k = terms.end - terms.begin;
  const T alpha = step.data.alpha;
  const T beta = before == 0 ? step.beta : T(1);
  const ATile a = a_tile(step, rows, terms);
  const T* b = step.data.b + terms.begin * o_.b.row_stride + column * o_.b.column_stride;
  T* packed_b = block.packed_b + before * block.panels * nr + panel * nr * k;
  if (packing && !packs_itself) kernels_.pack(b, o_.b.column_stride, o_.b.row_stride, width, nr, k, packed_b);
  const bool asks = !packs_itself && width == nr && c_is_row_contiguous(o_);
  T* c = step.data.c + (step.rows.begin + rows.begin) * o_.c.row_stride +
         column * (c_is_row_contiguous(o_) ? 1 : o_.c.column_stride);
  run_tile(c, beta, height, width, !asks, [&](T* to, std::int64_t c_stride) {
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

/// Where C's columns are neighbours the micro-kernel works on C itself, whose lines are asked for here unless it does
/// that; elsewhere on a copy of the tile.
template <class T>
template <class Multiply>
void Packed<T>::run_tile(T* c, T beta, int rows, std::int64_t columns, bool ask, const Multiply& multiply) const {
  if (c_is_row_contiguous(o_)) {
    const T* line = c;
    for (int i = 0; ask && i < rows; ++i, line += o_.c.row_stride) {
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
