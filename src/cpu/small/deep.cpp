// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/deep.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    this->blocking_ = fmt::format("MR={} NR={} KC={} chunks={}", kernels.rows, kernels.vectors * kernels.lanes,
                                  std::min(chunk_terms<T>, o_.k), chunks_);
    this->model_bytes_ = static_cast<double>(sizeof(T)) * static_cast<double>(problem.description.batch_count) *
                         (m * k + k * n + 2 * m * n * static_cast<double>(chunks_));
  }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return slots_ * o_.m * o_.n * static_cast<std::int64_t>(sizeof(T));
  }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    auto* scratch = static_cast<T*>(thread_scratch(workspace_bytes()));
    if (scratch == nullptr)
      return {StatusCode::out_of_memory, fmt::format("no memory for the sums of chunks: {} bytes", workspace_bytes())};
    for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
      const Operands<T> data = this->operands(arguments, p);
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
      multiply_chunk(data, chunks.begin + slot, sums + slot * o_.m * o_.n);
    member.meet();
    const Range rows = part_of(o_.m, member.count, member.id);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) add_row(data, chunks, sums, i);
    member.meet();
  }

  void multiply_chunk(const Operands<T>& data, std::int64_t chunk, T* sums) const {
    const std::int64_t begin = chunk * chunk_terms<T>;
    const std::int64_t terms = std::min(chunk_terms<T>, o_.k - begin);
    const std::int64_t width = kernels_.vectors * kernels_.lanes;
    const std::int64_t tiles = core::ceil_divide(o_.m, kernels_.rows);
    for (std::int64_t j = 0; j < o_.n; j += width) {
      const std::int64_t columns = std::min(width, o_.n - j);
      const int vectors = static_cast<int>(core::ceil_divide(columns, kernels_.lanes));
      const std::int64_t last_lanes = columns - (vectors - 1) * kernels_.lanes;
      for (std::int64_t t = 0; t < tiles; ++t) {
        const Range rows = part_of(o_.m, tiles, t);
        const auto kernel = choose_tile(kernels_, order_, static_cast<int>(rows.end - rows.begin), vectors,
                                        last_lanes != kernels_.lanes);
        kernel({order_ == AOrder::columns ? o_.a.column_stride : o_.a.row_stride, o_.b.row_stride, o_.n, terms,
                last_lanes},
               data.a + rows.begin * o_.a.row_stride + begin * o_.a.column_stride, data.b + begin * o_.b.row_stride + j,
               sums + rows.begin * o_.n + j, T(1), T(0));
      }
    }
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

template <class T>
double deep_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const std::int64_t chunks = core::ceil_divide(o.k, chunk_terms<T>);
  const auto c = static_cast<double>(o.m) * static_cast<double>(core::round_up(o.n, kernels.lanes));
  const double terms = c * static_cast<double>(o.k);
  const double adding = c * static_cast<double>(chunks) * static_cast<double>(sizeof(T)) * 2 * pack_seconds;
  const int threads = useful_threads(terms, chunks, problem.threads);
  // On one thread the second pass over C is for nothing.
  const double arithmetic = (threads == 1 ? 4.0 : 1.6) * terms / terms_per_second(kernels);
  const double memory = first_reads(static_cast<double>(o.m), static_cast<double>(o.n), static_cast<double>(o.k),
                                    static_cast<std::int64_t>(sizeof(T)));
  return ((arithmetic + memory + adding) / threads + 5e-6) * static_cast<double>(problem.description.batch_count);
}

template <class T>
std::unique_ptr<plan::Executable> make_deep(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Deep<T>>(problem, kernels);
}

template std::unique_ptr<plan::Executable> make_deep(const plan::Problem&, const MicroKernels<float>&);
template std::unique_ptr<plan::Executable> make_deep(const plan::Problem&, const MicroKernels<double>&);
template std::string_view deep_refuses<float>(const plan::Problem&);
template std::string_view deep_refuses<double>(const plan::Problem&);
template double deep_cost(const plan::Problem&, const MicroKernels<float>&);
template double deep_cost(const plan::Problem&, const MicroKernels<double>&);

}  // namespace exactile::cpu
