// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cpu/caches.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t few_terms = 64;
constexpr std::int64_t most_calls = 256;  ///< of micro-kernels, noted in a plan

/// As a number that cannot overflow: k of an operand that is broadcast is bounded by nothing but its type.
[[nodiscard]] double bytes_of(std::int64_t rows, std::int64_t columns, std::int64_t element_size) {
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(element_size);
}

/// A that comes from memory is read along so many rows at once: as many as prefetchers follow.
constexpr int streamed_rows = 8;
[[nodiscard]] bool a_streams(const Orientation& o, std::int64_t element_size) {
  return bytes_of(o.m, o.k, element_size) > static_cast<double>(caches().l2);
}

[[nodiscard]] bool a_by_rows(const Orientation& o) { return o.a.column_stride == 1 || o.k == 1; }
[[nodiscard]] bool a_by_columns(const Orientation& o) { return o.a.row_stride == 1 || o.m == 1; }

/// Columns of a full panel. Wide tiles read less: four vectors of B and six elements of A for as many multiply-adds as
/// two and twelve. They need B's panel in L1, and C's lines near, which they visit in fewer rows at a time.
template <class T>
[[nodiscard]] std::int64_t panel_width(const Orientation& o, const MicroKernels<T>& kernels) {
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t widest = kernels.most_vectors * kernels.lanes;
  const double all = bytes_of(o.m, o.k, size) + bytes_of(o.k, o.n, size) + bytes_of(o.m, o.n, size);
  const bool is_near =
      all <= static_cast<double>(caches().l2) && bytes_of(o.k, widest, size) <= static_cast<double>(caches().l1);
  return is_near ? widest : kernels.vectors * kernels.lanes;
}

/// The columns of C cut into panels of full width and a last one; for each, its row tiles of two heights.
template <class T>
struct Panel {
  int vectors = 0;
  TileShape shape{};            ///< k: of the first chunk
  std::int64_t tiles = 0;       ///< row tiles over all of m
  std::int64_t tall_tiles = 0;  ///< the first so many have height + 1 rows
  std::int64_t height = 0;
  typename MicroKernels<T>::Kernel tall = nullptr;
  typename MicroKernels<T>::Kernel plain = nullptr;
};

template <class T>
class Direct final : public Product<T> {
 public:
  Direct(const plan::Problem& problem, const MicroKernels<T>& kernels);
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] bool is_quick() const override;
  void run_quickly(const void* a, const void* b, void* c, double alpha, double beta) const override;
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

  [[nodiscard]] Panel<T> panel_of(std::int64_t width) const;
  template <class Visit>
  void visit_panel(const Panel<T>& panel, std::int64_t column, Range tiles, const Visit& visit) const;
  template <class Visit>
  void visit_tiles(std::int64_t part, std::int64_t parts, const Visit& visit) const;
  void run_tiles(const Operands<T>& data, std::int64_t part, std::int64_t parts) const;
  void run_product(const Operands<T>& data) const;

  AOrder order_;
  std::int64_t width_;  ///< columns of a full panel
  std::int64_t full_panels_;
  Panel<T> full_;
  Panel<T> last_;
  int threads_;
  /// A small product's calls, on one thread. The first, which begins with the operands' first elements, lies here
  /// rather than with the others: each pointer on the way to a call's addresses is waited for, every time.
  bool has_calls_ = false;
  Call first_{};
  std::vector<Call> others_;
};

template <class T>
Panel<T> Direct<T>::panel_of(std::int64_t width) const {
  Panel<T> panel;
  if (width == 0) return panel;
  panel.vectors = static_cast<int>(core::ceil_divide(width, kernels_.lanes));
  panel.shape = {.a_stride = order_ == AOrder::columns ? o_.a.column_stride : o_.a.row_stride,
                 .b_stride = o_.b.row_stride,
                 .c_stride = o_.c.row_stride,
                 .k = std::min(o_.k, chunk_terms<T>),
                 .last_lanes = width - (panel.vectors - 1) * kernels_.lanes};
  const bool masked = panel.shape.last_lanes != kernels_.lanes;
  const int most_rows =
      panel.vectors == 1 && a_streams(o_, sizeof(T)) ? streamed_rows : kernels_.rows_of(panel.vectors);
  panel.tiles = core::ceil_divide(o_.m, most_rows);
  panel.height = o_.m / panel.tiles;
  panel.tall_tiles = o_.m % panel.tiles;
  panel.plain = choose_tile(kernels_, order_, static_cast<int>(panel.height), panel.vectors, masked);
  if (panel.tall_tiles > 0)
    panel.tall = choose_tile(kernels_, order_, static_cast<int>(panel.height) + 1, panel.vectors, masked);
  return panel;
}

template <class T>
Direct<T>::Direct(const plan::Problem& problem, const MicroKernels<T>& kernels)
    : Base(problem, kernels, preferred_orientation(problem.description)),
      order_(a_by_columns(o_) ? AOrder::columns : AOrder::rows),
      width_(panel_width(o_, kernels)),
      full_panels_(o_.n / width_),
      full_(panel_of(full_panels_ > 0 ? width_ : 0)),
      last_(panel_of(o_.n % width_)) {
  const GemmDescription& d = problem.description;
  const double terms = static_cast<double>(o_.m) * static_cast<double>(o_.n) * static_cast<double>(o_.k) *
                       static_cast<double>(d.batch_count);
  const std::int64_t parts = std::max(d.batch_count, full_.tiles + last_.tiles);
  threads_ = useful_threads(terms, parts, problem.threads);
  const std::int64_t calls = full_panels_ * full_.tiles + last_.tiles;
  if (threads_ == 1 && calls <= most_calls && o_.k <= chunk_terms<T>) {
    others_.reserve(static_cast<std::size_t>(calls));
    visit_tiles(0, 1, [&](const Call& call) { others_.push_back(call); });
    first_ = others_.front();
    others_.erase(others_.begin());
    has_calls_ = true;
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
    visit(Call{panel.shape, tall ? panel.tall : panel.plain, row * o_.a.row_stride, column,
               row * o_.c.row_stride + column});
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
void Direct<T>::run_tiles(const Operands<T>& data, std::int64_t part, std::int64_t parts) const {
  visit_tiles(part, parts, [&](const Call& call) {
    TileShape shape = call.shape;
    T beta = data.beta;
    for (std::int64_t p = 0; p < o_.k; p += chunk_terms<T>) {
      shape.k = std::min(o_.k - p, chunk_terms<T>);
      call.kernel(shape, data.a + call.a + p * o_.a.column_stride, data.b + call.b + p * o_.b.row_stride,
                  data.c + call.c, data.alpha, beta);
      beta = T(1);
    }
  });
}

/// On the calling thread.
template <class T>
inline void Direct<T>::run_product(const Operands<T>& data) const {
  if (!has_calls_) return run_tiles(data, 0, 1);
  first_.kernel(first_.shape, data.a, data.b, data.c, data.alpha, data.beta);
  for (const Call& call : others_)
    call.kernel(call.shape, data.a + call.a, data.b + call.b, data.c + call.c, data.alpha, data.beta);
}

template <class T>
bool Direct<T>::is_quick() const {
  const GemmDescription& d = this->description_;
  return has_calls_ && d.batch_count == 1 && !d.a.pointer_array && !d.b.pointer_array && !d.c.pointer_array &&
         d.bias == Bias::none && d.activation == Activation::none;
}

template <class T>
void Direct<T>::run_quickly(const void* a, const void* b, void* c, double alpha, double beta) const {
  const void* rows = o_.exchanged ? b : a;
  const void* columns = o_.exchanged ? a : b;
  const Operands<T> data{static_cast<const T*>(rows), static_cast<const T*>(columns), static_cast<T*>(c),
                         static_cast<T>(alpha), static_cast<T>(beta)};
  if (others_.empty()) return first_.kernel(first_.shape, data.a, data.b, data.c, data.alpha, data.beta);
  run_product(data);
}

template <class T>
Status Direct<T>::run(const GemmArguments& arguments, const Execution&) const {
  const std::int64_t products = this->description_.batch_count;
  if (threads_ == 1) {
    for (std::int64_t p = 0; p < products; ++p) run_product(this->operands(arguments, p));
  } else {
    run_team(threads_, [&](const Member& member) {
      if (products >= member.count) {
        const Range mine = part_of(products, member.count, member.id);
        for (std::int64_t p = mine.begin; p < mine.end; ++p) run_tiles(this->operands(arguments, p), 0, 1);
      } else {
        for (std::int64_t p = 0; p < products; ++p) run_tiles(this->operands(arguments, p), member.id, member.count);
      }
    });
  }
  this->finish(arguments);
  return {};
}

}  // namespace

std::string_view direct_refuses(const plan::Problem& problem) {
  const Orientation o = preferred_orientation(problem.description);
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (o.b.column_stride != 1 && o.n != 1)
    return o.exchanged ? "A's rows are not neighbours" : "B's columns are not neighbours";
  if (!a_by_rows(o) && !a_by_columns(o)) return "one operand has no unit stride";
  return {};
}

template <class T>
double direct_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const double b_bytes = bytes_of(o.k, o.n, sizeof(T));
  const double row_tiles = static_cast<double>(core::ceil_divide(o.m, kernels.rows));
  const double padded = static_cast<double>(core::round_up(o.n, kernels.lanes)) / static_cast<double>(o.n);
  const auto m = static_cast<double>(o.m);
  const auto n = static_cast<double>(o.n);
  const auto k = static_cast<double>(o.k);
  const double arithmetic = m * n * k * padded / terms_per_second(kernels);
  // What does not stay in L2 is fetched again: a panel of B for every tile of rows, A for every panel.
  const double l2_share = static_cast<double>(caches().l2) / 2;
  const std::int64_t width = kernels.vectors * kernels.lanes;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const double b_reads = bytes_of(o.k, width, size) <= l2_share ? 1 : row_tiles;
  const double a_reads = bytes_of(o.m, o.k, size) <= l2_share ? 1 : static_cast<double>(core::ceil_divide(o.n, width));
  const double again = static_cast<double>(size) * (m * k * (a_reads - 1) + k * n * (b_reads - 1));
  // B is read down its columns, a few lines of each row, and nothing asks for them ahead.
  const double memory = b_bytes <= l2_share ? 0 : 2 * first_reads(m, n, k, size) + again / bytes_per_second / 4;
  double nearness = b_bytes <= static_cast<double>(caches().l1) ? 1.02 : 1.06;
  // One vector of columns leaves few multiply-adds to each element of A, which is then waited for.
  if (o.n <= kernels.lanes && a_streams(o, size)) nearness = 2;
  const auto products = static_cast<double>(problem.description.batch_count);
  const std::int64_t parts = std::max(problem.description.batch_count, core::ceil_divide(o.m, kernels.rows));
  const int threads = useful_threads(m * n * k * products, parts, problem.threads);
  return (arithmetic * nearness + memory + 10e-9) * products / threads;
}

template <class T>
std::unique_ptr<plan::Executable> make_direct(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  return std::make_unique<Direct<T>>(problem, kernels);
}

template std::unique_ptr<plan::Executable> make_direct(const plan::Problem&, const MicroKernels<float>&);
template std::unique_ptr<plan::Executable> make_direct(const plan::Problem&, const MicroKernels<double>&);
template double direct_cost(const plan::Problem&, const MicroKernels<float>&);
template double direct_cost(const plan::Problem&, const MicroKernels<double>&);

}  // namespace exactile::cpu
