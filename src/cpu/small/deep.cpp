// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/deep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/caches.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/direct.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr double most_bytes_of_c = 1 << 20;
constexpr std::int64_t most_scratch = 16 << 20;

template <class T>
class Deep final : public Product<T> {
 public:
  Deep(const plan::Problem& problem, const MicroKernels<T>& kernels)
      : Base(problem, kernels, preferred_orientation(problem.description)),
        order_(o_.a.row_stride == 1 || o_.m == 1 ? AOrder::columns : AOrder::rows),
        chunks_(core::ceil_divide(o_.k, chunk_terms<T>)),
        slots_(std::min<std::int64_t>(chunks_, most_scratch / (o_.m * o_.n * static_cast<std::int64_t>(sizeof(T))))) {
    const auto m = static_cast<double>(o_.m);
    const auto n = static_cast<double>(o_.n);
    const auto k = static_cast<double>(o_.k);
    threads_ = useful_threads(m * n * k, chunks_, problem.threads);
    this->blocking_ = fmt::format("MR={} NR={} KC={} chunks={}", kernels.rows_of(kernels.most_vectors),
                                  kernels.most_vectors * kernels.lanes, std::min(chunk_terms<T>, o_.k), chunks_);
    this->model_bytes_ = static_cast<double>(sizeof(T)) * static_cast<double>(problem.description.batch_count) *
                         (m * k + k * n + 2 * m * n * static_cast<double>(chunks_));
  }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return threads_ == 1 ? 0 : slots_ * o_.m * o_.n * static_cast<std::int64_t>(sizeof(T));
  }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    T* scratch = nullptr;
    if (threads_ > 1) {
      scratch = static_cast<T*>(thread_scratch(workspace_bytes()));
      if (scratch == nullptr)
        return {StatusCode::out_of_memory,
                fmt::format("no memory for the sums of chunks: {} bytes", workspace_bytes())};
    }
    for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
      const Operands<T> data = this->operands(arguments, p);
      if (threads_ == 1)
        run_alone(data);
      else
        run_team(threads_, [&](const Member& member) {
          for (std::int64_t first = 0; first < chunks_; first += slots_)
            run_round(data, {first, std::min(first + slots_, chunks_)}, scratch, member);
        });
    }
    this->finish(arguments);
    return {};
  }

 private:
  using Base = Product<T>;
  using Base::kernels_;
  using Base::o_;

  /// The chunks that fit into the scratch at one time.
  void run_round(const Operands<T>& data, Range chunks, T* sums, const Member& member) const {
    const Range mine = part_of(chunks.end - chunks.begin, member.count, member.id);
    for (std::int64_t slot = mine.begin; slot < mine.end; ++slot)
      multiply_chunk(data, chunks.begin + slot, {sums + slot * o_.m * o_.n, o_.n, T(1), T(0)});
    member.meet();
    const Range rows = part_of(o_.m, member.count, member.id);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) add_row(data, chunks, sums, i);
    member.meet();
  }

  /// Where a chunk's tiles go, and how.
  struct Target {
    T* c;
    std::int64_t stride;
    T alpha;
    T beta;
  };

  /// One thread needs no sums apart: it updates C chunk by chunk.
  void run_alone(const Operands<T>& data) const {
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
      multiply_chunk(data, chunk, {data.c, o_.c.row_stride, data.alpha, chunk == 0 ? data.beta : T(1)});
  }

  [[nodiscard]] std::int64_t terms_of(std::int64_t chunk) const {
    return std::min(chunk_terms<T>, o_.k - chunk * chunk_terms<T>);
  }

  /// Columns of C as wide as a tile may be, or the last ones.
  struct Panel {
    std::int64_t column;
    int vectors;
    std::int64_t last_lanes;
  };

  [[nodiscard]] Panel panel_at(std::int64_t column) const {
    const std::int64_t columns = std::min<std::int64_t>(kernels_.most_vectors * kernels_.lanes, o_.n - column);
    const int vectors = static_cast<int>(core::ceil_divide(columns, kernels_.lanes));
    return {column, vectors, columns - (vectors - 1) * kernels_.lanes};
  }

  void multiply_chunk(const Operands<T>& data, std::int64_t chunk, const Target& target) const {
    for (std::int64_t j = 0; j < o_.n; j += kernels_.most_vectors * kernels_.lanes) {
      const Panel panel = panel_at(j);
      const std::int64_t tiles = core::ceil_divide(o_.m, kernels_.rows_of(panel.vectors));
      for (std::int64_t t = 0; t < tiles; ++t) multiply_tile(data, chunk, target, panel, part_of(o_.m, tiles, t));
    }
  }

  void multiply_tile(const Operands<T>& data, std::int64_t chunk, const Target& target, const Panel& panel,
                     Range rows) const {
    const auto& [column, vectors, last_lanes] = panel;
    const int height = static_cast<int>(rows.end - rows.begin);
    const std::int64_t begin = chunk * chunk_terms<T>;
    const TileShape shape{order_ == AOrder::columns ? o_.a.column_stride : o_.a.row_stride,
                          o_.b.row_stride,
                          target.stride,
                          terms_of(chunk),
                          last_lanes,
                          o_.a.conjugate,
                          o_.b.conjugate};
    const T* a = data.a + rows.begin * o_.a.row_stride + begin * o_.a.column_stride;
    const T* b = data.b + begin * o_.b.row_stride + column;
    T* c = target.c + rows.begin * target.stride + column;
    const bool masked = last_lanes != kernels_.lanes;
    if (vectors == kernels_.most_vectors && !masked && order_ == AOrder::rows) {
      kernels_.asking_tile(order_, height, vectors)(shape, a, b, c, target.alpha, target.beta,
                                                    ahead_of(data, chunk, rows, column));
    } else {
      choose_tile(kernels_, order_, height, vectors, masked)(shape, a, b, c, target.alpha, target.beta);
    }
  }

  /// The rows of A that come next, of this chunk or the first ones of the next chunk, and this tile's share of the next
  /// chunk's B.
  [[nodiscard]] Ahead<T> ahead_of(const Operands<T>& data, std::int64_t chunk, Range rows, std::int64_t column) const {
    const std::int64_t next = std::min(chunk + 1, chunks_ - 1);
    const bool ends = rows.end == o_.m;
    const std::int64_t first = ends ? 0 : rows.end;
    const std::int64_t share = core::ceil_divide(chunk_terms<T>, o_.m);
    const std::int64_t begin = std::min(rows.begin * share, terms_of(next));
    const std::int64_t end = next == chunk ? begin : std::min(rows.end * share, terms_of(next));
    return {.a = data.a + first * o_.a.row_stride + (ends ? next : chunk) * chunk_terms<T>,
            .a_stride = o_.a.row_stride * static_cast<std::int64_t>(sizeof(T)),
            .a_rows = static_cast<int>(std::min(rows.end - rows.begin, o_.m - first)),
            .lines = data.b + (next * chunk_terms<T> + begin) * o_.b.row_stride + column,
            .line_stride = o_.b.row_stride,
            .line_rows = static_cast<int>(end - begin)};
  }

  /// Row i of C takes the sums of each chunk in turn, with the update every other kernel does.
  void add_row(const Operands<T>& data, Range chunks, const T* sums, std::int64_t i) const {
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk)
      kernels_.add_sums(sums + ((chunk - chunks.begin) * o_.m + i) * o_.n, data.c + i * o_.c.row_stride, o_.n,
                        data.alpha, chunk == 0 ? data.beta : T(1));
  }

  AOrder order_;
  std::int64_t chunks_;
  std::int64_t slots_;  ///< chunks whose sums are held at one time
  int threads_;
};

}  // namespace

template <class T>
std::string_view deep_refuses(const plan::Problem& problem) {
  const Orientation o = preferred_orientation(problem.description);
  if (static_cast<double>(o.m) * static_cast<double>(o.n) * sizeof(T) > most_bytes_of_c)
    return "C is large enough to be shared out among threads";
  return direct_refuses(problem);
}

/// Whether one thread finds a chunk of A and B in L2 whenever it comes by. A single vector of columns is better off
/// with long streams of A, see direct, unless one tile holds all rows; few chunks are not worth the asking ahead.
template <class T>
bool stays_near(const Orientation& o, const MicroKernels<T>& kernels) {
  constexpr std::int64_t least_chunks = 4;
  const double chunk_bytes = static_cast<double>(o.m + o.n) * static_cast<double>(chunk_terms<T> * sizeof(T));
  return core::ceil_divide(o.k, chunk_terms<T>) >= least_chunks &&
         chunk_bytes <= static_cast<double>(caches().l2) / 2 && (o.n > kernels.lanes || o.m <= kernels.rows_of(1));
}

template <class T>
double deep_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const std::int64_t chunks = core::ceil_divide(o.k, chunk_terms<T>);
  const auto c = static_cast<double>(o.m) * static_cast<double>(core::round_up(o.n, kernels.lanes));
  const double terms = c * static_cast<double>(o.k);
  const double adding = c * static_cast<double>(chunks) * static_cast<double>(sizeof(T)) * 2 * pack_seconds;
  const int threads = useful_threads(terms, chunks, problem.threads);
  const double arithmetic = terms / terms_per_second(kernels);
  const double memory = first_reads(static_cast<double>(o.m), static_cast<double>(o.n), static_cast<double>(o.k),
                                    static_cast<std::int64_t>(sizeof(T)));
  if (threads == 1) {
    const double nearness = stays_near(o, kernels) ? 1.03 : 4;
    return (arithmetic * nearness + memory + 100e-9) * static_cast<double>(problem.description.batch_count);
  }
  return ((1.6 * arithmetic + memory + adding) / threads + 5e-6) * static_cast<double>(problem.description.batch_count);
}

template <class T>
std::unique_ptr<plan::Executable> make_deep(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Deep<T>>(problem, kernels);
}

#define EXACTILE_DEEP(...)                                                                                      \
  template std::unique_ptr<plan::Executable> make_deep(const plan::Problem&, const MicroKernels<__VA_ARGS__>&); \
  template std::string_view deep_refuses<__VA_ARGS__>(const plan::Problem&);                                    \
  template double deep_cost(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_PLAIN_KIND(EXACTILE_DEEP)

}  // namespace exactile::cpu
