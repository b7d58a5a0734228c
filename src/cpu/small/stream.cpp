// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/stream.hpp"

#include <fmt/format.h>

#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/model/team.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t columns_per_part = 256;

std::int64_t stream_parts(const Orientation& o) { return core::ceil_divide(o.n, columns_per_part); }

template <class T>
class Stream final : public Product<T> {
 public:
  Stream(const plan::Problem& problem, const MicroKernels<T>& kernels)
      : Base(problem, kernels, preferred_orientation(problem.description)),
        kernel_(kernels.stream(static_cast<int>(o_.m))) {
    const auto m = static_cast<double>(o_.m);
    const auto n = static_cast<double>(o_.n);
    const auto k = static_cast<double>(o_.k);
    threads_ = members(stream_parts(o_), problem.threads);
    this->blocking_ = fmt::format("MR={}", o_.m);
    this->model_bytes_ =
        static_cast<double>(sizeof(T)) * (m * k + k * n + m * n) * static_cast<double>(problem.description.batch_count);
  }

  [[nodiscard]] int threads() const override { return threads_; }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    for (std::int64_t p = 0; p < this->description_.batch_count; ++p) {
      const Operands<T> data = this->operands(arguments, p);
      if (threads_ == 1)
        run_columns(data, {0, o_.n});
      else
        run_team(threads_, [&](const Member& member) {
          const Range parts = part_of(core::ceil_divide(o_.n, columns_per_part), member.count, member.id);
          run_columns(data, {parts.begin * columns_per_part, std::min(parts.end * columns_per_part, o_.n)});
        });
    }
    this->finish(arguments);
    return {};
  }

 private:
  using Base = Product<T>;
  using Base::o_;

  void run_columns(const Operands<T>& data, Range columns) const {
    if (columns.begin >= columns.end) return;
    kernel_({o_.a.row_stride, o_.b.row_stride, o_.c.row_stride, o_.k, columns.end - columns.begin}, data.a,
            data.b + columns.begin, data.c + columns.begin, data.alpha, data.beta);
  }

  typename MicroKernels<T>::Kernel kernel_;
  int threads_ = 1;
};

}  // namespace

template <class T>
std::string_view stream_refuses(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  if (o.m > kernels.stream_rows) return "more rows than the streaming kernels hold sums for";
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (o.b.column_stride != 1 && o.n != 1)
    return o.exchanged ? "A's rows are not neighbours" : "B's columns are not neighbours";
  if (o.a.column_stride != 1 && o.k != 1)
    return o.exchanged ? "B's columns are not read along their length" : "A's columns are not neighbours";
  return {};
}

template <class T>
Demand stream_demand(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto products = static_cast<double>(problem.description.batch_count);
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  Demand d;
  d.threads = members(stream_parts(o), problem.threads);
  // One load a term from the copy of A keeps the multiply-adds below their rate.
  d[Work::near_cycles] =
      unevenness(stream_parts(o), d.threads) * products * cycles_of(kernels, static_cast<double>(o.m) * n * k);
  d[Work::calls] = products * k;
  d[Work::tile_bytes] = products * static_cast<double>(sizeof(T)) * static_cast<double>(o.m) * n;  // sums, to C
  d[Work::read_bytes] = products * static_cast<double>(sizeof(T)) * k * n;
  d[Work::starts] = products;
  add_team(d, products, 0, 0);
  return d;
}

template <class T>
std::unique_ptr<plan::Executable> make_stream(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Stream<T>>(problem, kernels);
}

template std::unique_ptr<plan::Executable> make_stream(const plan::Problem&, const MicroKernels<float>&);
template std::unique_ptr<plan::Executable> make_stream(const plan::Problem&, const MicroKernels<double>&);
template std::string_view stream_refuses(const plan::Problem&, const MicroKernels<float>&);
template std::string_view stream_refuses(const plan::Problem&, const MicroKernels<double>&);
template Demand stream_demand(const plan::Problem&, const MicroKernels<float>&);
template Demand stream_demand(const plan::Problem&, const MicroKernels<double>&);

}  // namespace exactile::cpu
