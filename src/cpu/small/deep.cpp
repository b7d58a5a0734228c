// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/deep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/model/team.hpp"
#include "cpu/small/deep_reading.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t most_scratch = 16 << 20;

template <class K>
class Deep final : public Product<K> {
 public:
  Deep(const plan::Problem& problem, const MicroKernels<K>& kernels)
      : Base(problem, kernels, preferred_orientation(problem.description)),
        reading_(o_, kernels),
        chunks_(core::ceil_divide(o_.k, chunk_terms<K>)),
        panels_(core::ceil_divide(o_.n, reading_.width)),
        slots_(std::min<std::int64_t>(chunks_, most_scratch / (o_.m * o_.n * size_of_sum))) {
    const auto m = static_cast<double>(o_.m);
    const auto n = static_cast<double>(o_.n);
    const auto k = static_cast<double>(o_.k);
    threads_ = members(core::checked_multiply(chunks_, panels_).value_or(problem.threads), problem.threads);
    this->blocking_ = fmt::format("MR={} NR={} KC={} chunks={}", rows_of_tile(vectors_of_panel()), reading_.width,
                                  std::min(chunk_terms<K>, o_.k), chunks_);
    this->model_bytes_ = static_cast<double>(problem.description.batch_count) *
                         (static_cast<double>(sizeof(Input<K>)) * (m * k + k * n) +
                          static_cast<double>(size_of_sum) * 2 * m * n * static_cast<double>(chunks_));
  }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return bytes_of_sums() + threads_ * reading_.bytes(); }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    char* scratch = nullptr;
    if (workspace_bytes() > 0) {
      scratch = static_cast<char*>(thread_scratch(workspace_bytes()));
      if (scratch == nullptr)
        return {StatusCode::out_of_memory,
                fmt::format("no memory for the sums of chunks: {} bytes", workspace_bytes())};
    }
    auto* const sums = reinterpret_cast<Sum*>(scratch);
    const auto room_of = [&](int member) {
      return reinterpret_cast<Lane*>(scratch + bytes_of_sums() + member * reading_.bytes());
    };
    for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
      const Operands<K> data = this->operands(arguments, p);
      if (threads_ == 1)
        run_alone(data, room_of(0));
      else
        run_team(threads_, [&](const Member& member) {
          for (std::int64_t first = 0; first < chunks_; first += slots_)
            run_round(data, {first, std::min(first + slots_, chunks_)}, sums, room_of(member.id), member);
        });
    }
    this->finish(arguments);
    return {};
  }

 private:
  using Base = Product<K>;
  using Base::kernels_;
  using Base::o_;
  using Lane = cpu::Lane<K>;
  using Sum = cpu::Sum<K>;
  static constexpr std::int64_t size_of_sum = sizeof(Sum);

  [[nodiscard]] std::int64_t bytes_of_sums() const {
    return threads_ == 1 ? 0 : core::round_up(slots_ * o_.m * o_.n * size_of_sum, 64);
  }

  /// The chunks that fit into the scratch at one time. Their panels, one chunk's behind the other's, are shared evenly.
  void run_round(const Operands<K>& data, Range chunks, Sum* sums, Lane* room, const Member& member) const {
    const Range mine = part_of((chunks.end - chunks.begin) * panels_, member.count, member.id);
    for (std::int64_t at = mine.begin; at < mine.end;) {
      const std::int64_t slot = at / panels_;
      const Range panels{at % panels_, std::min(panels_, at % panels_ + mine.end - at)};
      multiply_chunk(data, chunks.begin + slot, panels, {sums + slot * o_.m * o_.n, o_.n, Sum(1), Sum(0)}, room);
      at += panels.end - panels.begin;
    }
    release_registers<K>();
    member.meet();
    const Range elements = part_of(o_.m * o_.n, member.count, member.id);
    for (std::int64_t at = elements.begin; at < elements.end;) {
      const Range columns{at % o_.n, std::min(o_.n, at % o_.n + elements.end - at)};
      add_to_row(data, chunks, sums, at / o_.n, columns);
      at += columns.end - columns.begin;
    }
    member.meet();
  }

  /// Where a chunk's tiles go, and how.
  struct Target {
    Sum* c;
    std::int64_t stride;
    Sum alpha;
    Sum beta;
  };

  /// One thread needs no sums apart: it updates C chunk by chunk.
  void run_alone(const Operands<K>& data, Lane* room) const {
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
      multiply_chunk(data, chunk, {0, panels_}, {data.c, o_.c.row_stride, data.alpha, chunk == 0 ? data.beta : Sum(1)},
                     room);
    release_registers<K>();
  }

  [[nodiscard]] std::int64_t terms_of(std::int64_t chunk) const {
    return std::min(chunk_terms<K>, o_.k - chunk * chunk_terms<K>);
  }
  [[nodiscard]] int vectors_of_panel() const { return static_cast<int>(reading_.width / kernels_.lanes); }
  /// The rows of a packed A lie in tiles, which are the same for all panels.
  [[nodiscard]] int rows_of_tile(int vectors) const {
    return kernels_.rows_of(reading_.packs_a ? vectors_of_panel() : vectors);
  }

  /// Columns of C as wide as a tile may be, or the last ones.
  struct Panel {
    std::int64_t column;
    std::int64_t columns;
    int vectors;
    std::int64_t last_lanes;
  };

  [[nodiscard]] Panel panel_at(std::int64_t index) const {
    const std::int64_t column = index * reading_.width;
    const std::int64_t columns = std::min(reading_.width, o_.n - column);
    const int vectors = static_cast<int>(core::ceil_divide(columns, kernels_.lanes));
    return {column, columns, vectors, columns - (vectors - 1) * kernels_.lanes};
  }

  void multiply_chunk(const Operands<K>& data, std::int64_t chunk, Range panels, const Target& target,
                      Lane* room) const {
    if (reading_.packs_a) pack_a(data, chunk, room);
    for (std::int64_t index = panels.begin; index < panels.end; ++index) {
      const Panel panel = panel_at(index);
      if (reading_.packs_b)
        kernels_.pack_b(data.b + chunk * chunk_terms<K> * o_.b.row_stride + panel.column * o_.b.column_stride,
                        o_.b.column_stride, o_.b.row_stride, panel.columns, panel.vectors * kernels_.lanes,
                        terms_of(chunk), room + reading_.a_lanes);
      const std::int64_t tiles = core::ceil_divide(o_.m, rows_of_tile(panel.vectors));
      for (std::int64_t t = 0; t < tiles; ++t) multiply_tile(data, chunk, target, panel, part_of(o_.m, tiles, t), room);
    }
  }

  /// Tile after tile: rows one behind the other, or terms.
  void pack_a(const Operands<K>& data, std::int64_t chunk, Lane* room) const {
    const Input<K>* const from = data.a + chunk * chunk_terms<K> * o_.a.column_stride;
    const std::int64_t tiles = core::ceil_divide(o_.m, rows_of_tile(vectors_of_panel()));
    for (std::int64_t t = 0; t < tiles; ++t) {
      const Range rows = part_of(o_.m, tiles, t);
      const std::int64_t height = rows.end - rows.begin;
      if (reading_.order == AOrder::columns)
        kernels_.pack_a(from + rows.begin * o_.a.row_stride, o_.a.row_stride, o_.a.column_stride, height, height,
                        terms_of(chunk), room + rows.begin * reading_.a_stride);
      else
        for (std::int64_t i = rows.begin; i < rows.end; ++i)
          kernels_.copy_a(from + i * o_.a.row_stride, terms_of(chunk), room + i * reading_.a_stride);
    }
  }

  struct TileOperand {
    const Lane* first;
    std::int64_t stride;
  };
  [[nodiscard]] TileOperand tile_of_a(const Operands<K>& data, std::int64_t chunk, Range rows, const Lane* room) const {
    const bool by_columns = reading_.order == AOrder::columns;
    if constexpr (reads_operands<K>)
      if (!reading_.packs_a)
        return {data.a + rows.begin * o_.a.row_stride + chunk * chunk_terms<K> * o_.a.column_stride,
                by_columns ? o_.a.column_stride : o_.a.row_stride};
    return {room + rows.begin * reading_.a_stride, by_columns ? rows.end - rows.begin : reading_.a_stride};
  }
  [[nodiscard]] TileOperand panel_of_b(const Operands<K>& data, std::int64_t chunk, const Panel& panel,
                                       const Lane* room) const {
    if constexpr (reads_operands<K>)
      if (!reading_.packs_b) return {data.b + chunk * chunk_terms<K> * o_.b.row_stride + panel.column, o_.b.row_stride};
    return {room + reading_.a_lanes, std::int64_t{panel.vectors} * kernels_.lanes};
  }

  void multiply_tile(const Operands<K>& data, std::int64_t chunk, const Target& target, const Panel& panel, Range rows,
                     const Lane* room) const {
    const int height = static_cast<int>(rows.end - rows.begin);
    const TileOperand a = tile_of_a(data, chunk, rows, room);
    const TileOperand b = panel_of_b(data, chunk, panel, room);
    const TileShape shape{a.stride,         b.stride,       target.stride, lanes_of<K>(terms_of(chunk)),
                          panel.last_lanes, o_.a.conjugate, o_.b.conjugate};
    Sum* const c = target.c + rows.begin * target.stride + panel.column;
    const bool masked = panel.last_lanes != kernels_.lanes;
    if constexpr (reads_operands<K>) {
      if (reading_.asks_for_b && rows.begin == 0 && panel.column + packing_ahead * reading_.width < o_.n &&
          !kernels_.is_short(height, panel.vectors)) {
        kernels_.packing_tile(reading_.order, height, panel.vectors)(shape, a.first, b.first, c, target.alpha,
                                                                     target.beta, nullptr);
        return;
      }
      if (panel.vectors == kernels_.most_vectors && !masked && reading_.order == AOrder::rows && !reading_.packs_b &&
          !reading_.asks_for_b && !kernels_.is_short(height, panel.vectors)) {
        kernels_.asking_tile(AOrder::rows, height, panel.vectors)(shape, a.first, b.first, c, target.alpha, target.beta,
                                                                  ahead_of(data, chunk, rows, panel.column));
        return;
      }
    }
    choose_tile(kernels_, reading_.order, height, panel.vectors, masked)(shape, a.first, b.first, c, target.alpha,
                                                                         target.beta);
  }

  /// Of operands that are read in place: the rows of A that come next, of this chunk or the first ones of the next
  /// chunk, and this tile's share of the next chunk's B.
  [[nodiscard]] Ahead<Sum> ahead_of(const Operands<K>& data, std::int64_t chunk, Range rows,
                                    std::int64_t column) const {
    const std::int64_t next = std::min(chunk + 1, chunks_ - 1);
    const bool ends = rows.end == o_.m;
    const std::int64_t first = ends ? 0 : rows.end;
    const std::int64_t share = core::ceil_divide(chunk_terms<K>, o_.m);
    const std::int64_t begin = std::min(rows.begin * share, terms_of(next));
    const std::int64_t end = next == chunk ? begin : std::min(rows.end * share, terms_of(next));
    return {.a = data.a + first * o_.a.row_stride + (ends ? next : chunk) * chunk_terms<K>,
            .a_stride = o_.a.row_stride * static_cast<std::int64_t>(sizeof(Sum)),
            .a_rows = static_cast<int>(std::min(rows.end - rows.begin, o_.m - first)),
            .lines = data.b + (next * chunk_terms<K> + begin) * o_.b.row_stride + column,
            .line_stride = o_.b.row_stride,
            .line_rows = static_cast<int>(end - begin)};
  }

  /// Some of row i of C take the sums of each chunk in turn, with the update every other kernel does.
  void add_to_row(const Operands<K>& data, Range chunks, const Sum* sums, std::int64_t i, Range columns) const {
    Sum* const c = data.c + i * o_.c.row_stride + columns.begin;
    const Sum* from = sums + i * o_.n + columns.begin;
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk, from += o_.m * o_.n)
      kernels_.add_sums(from, c, columns.end - columns.begin, data.alpha, chunk == 0 ? data.beta : Sum(1));
  }

  DeepReading<K> reading_;
  std::int64_t chunks_;
  std::int64_t panels_;
  std::int64_t slots_;  ///< chunks whose sums are held at one time
  int threads_;
};

}  // namespace

template <class K>
std::unique_ptr<plan::Executable> make_deep(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  return std::make_unique<Deep<K>>(problem, kernels);
}

#define EXACTILE_DEEP(...) \
  template std::unique_ptr<plan::Executable> make_deep(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_KIND(EXACTILE_DEEP)

}  // namespace exactile::cpu
