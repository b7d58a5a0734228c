// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/vectors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/type_dispatch.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/small/quick_dot.hpp"
#include "cpu/small/vector_blocks.hpp"
#include "cpu/small/vector_epilogue.hpp"
#include "cpu/threads/scratch.hpp"
#include "cpu/threads/team.hpp"
#include "plan/scales.hpp"
#include "reference/naive.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t most_partial = 16 << 20;  ///< bytes of the sums that blocks keep apart

/// visit(step), where a step of one is a constant: loops over neighbours then become vectors.
template <class Visit>
void with_step(std::int64_t step, const Visit& visit) {
  if (step == 1)
    visit(std::integral_constant<std::int64_t, 1>());
  else
    visit(step);
}

/// What joins the sums on the way: the sums begin with beta * C.
template <class Sum>
struct Update {
  Sum alpha = Sum(1);
  Sum beta = Sum{};
  [[nodiscard]] bool is_plain() const { return alpha == Sum(1) && beta == Sum{}; }
};

template <class In>
class Vectors final : public plan::Executable, public plan::QuickProduct {
 public:
  Vectors(const plan::Problem& problem, const VectorKernels<In>& kernels);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] plan::QuickCall quick_call() const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return threads_ * blocks_.bytes_per_thread() + partial_blocks_ * r_.vectors * r_.lines * size_of_sum;
  }
  [[nodiscard]] std::string blocking() const override {
    return fmt::format("{} lines={} vectors={} KC={}", r_.across ? "across" : "along", blocks_.tile(), r_.vectors,
                       blocks_.terms());
  }
  [[nodiscard]] double model_bytes() const override {
    const auto vectors = static_cast<double>(r_.vectors);
    const auto lines = static_cast<double>(r_.lines);
    const auto terms = static_cast<double>(r_.terms);
    return (static_cast<double>(sizeof(In)) * (lines + vectors) * terms +
            static_cast<double>(size_in_bytes(d_.types.output)) * lines * vectors) *
           static_cast<double>(d_.batch_count);
  }

 private:
  using Sum = Accumulator<In>;
  using Room = typename VectorBlocks<In>::Room;
  static constexpr std::int64_t size_of_sum = sizeof(Sum);

  [[nodiscard]] bool updates_by_chunk() const { return r_.across && !std::is_integral_v<Sum> && !plan::has_scales(d_); }
  /// Whether sums lie as C does, and meet nothing but alpha and beta there. A dot product's bits are QuickDot's.
  [[nodiscard]] bool lie_as_c() const {
    return r_.c_line_stride == 1 && (r_.across || r_.vectors == 1) && !blocks_.is_dot() &&
           d_.types.output == element_type_v<Sum> && !plan::has_scales(d_) && d_.bias == Bias::none &&
           d_.activation == Activation::none;
  }
  /// As products name its type.
  using Element = std::conditional_t<std::is_same_v<In, WideInt32>, std::int32_t, In>;
  /// visit.template operator()<Out>() with the type of C.
  template <class Visit>
  void with_output(const Visit& visit) const {
    core::with_operand_types({element_type_v<In>, d_.types.output}, [&]<class W, class X, class Out>() {
      if constexpr (std::is_same_v<W, Element> && std::is_same_v<Accumulator<W, Out>, Sum>)
        visit.template operator()<Out>();
    });
  }
  [[nodiscard]] VectorOperands<In> operands(const GemmArguments& arguments, std::int64_t product) const;
  [[nodiscard]] Update<Sum> update_of(const GemmArguments& arguments) const;
  void begin(const Update<Sum>& update, const void* c, Range lines, Sum* sums) const;
  void join(const Sum* chunk, bool is_first, const Update<Sum>& update, void* c, Range lines, Sum* sums) const;
  void add_to_c(const Sum* sums, Sum alpha, Sum beta, void* c, Range lines) const;
  void run_lines(const GemmArguments& arguments, const VectorOperands<In>& data, Range lines, const Room& room) const;
  void run_blocks(const GemmArguments& arguments, const VectorOperands<In>& data, const Room& room, Sum* partial,
                  const Member& member) const;
  void finish(const GemmArguments& arguments, void* c, Range lines, const Sum* sums) const;

  GemmDescription d_;
  VectorRoles r_;
  const VectorKernels<In>& kernels_;
  VectorBlocks<In> blocks_;
  int threads_;
  bool in_place_;                    ///< each chunk's sums go to C itself
  std::int64_t partial_blocks_ = 0;  ///< whose sums are kept apart at one time; 0 where threads share lines
};

template <class In>
Vectors<In>::Vectors(const plan::Problem& problem, const VectorKernels<In>& kernels)
    : d_(problem.description), r_(vector_roles(d_)), kernels_(kernels), blocks_(r_, kernels) {
  const VectorShares shares = shares_of<In>(r_, d_.batch_count, problem.threads);
  threads_ = shares.threads;
  in_place_ = updates_by_chunk() && lie_as_c();
  const std::int64_t bytes_of_block = r_.vectors * r_.lines * size_of_sum;
  if (shares.of == VectorShares::Of::blocks)
    partial_blocks_ = std::clamp<std::int64_t>(most_partial / bytes_of_block, threads_,
                                               std::max<std::int64_t>(blocks_.count(), threads_));
}

template <class In>
VectorOperands<In> Vectors<In>::operands(const GemmArguments& arguments, std::int64_t product) const {
  const auto* a = static_cast<const In*>(reference::product_base(arguments.a, d_.a, product, sizeof(In)));
  const auto* b = static_cast<const In*>(reference::product_base(arguments.b, d_.b, product, sizeof(In)));
  void* c = reference::product_base(arguments.c, d_.c, product, size_in_bytes(d_.types.output));
  return r_.w_is_a ? VectorOperands<In>{a, b, c} : VectorOperands<In>{b, a, c};
}

template <class In>
void Vectors<In>::run_lines(const GemmArguments& arguments, const VectorOperands<In>& data, Range lines,
                            const Room& room) const {
  const Update<Sum> update = update_of(arguments);
  for (std::int64_t j = lines.begin; j < lines.end; j += blocks_.tile()) {
    const Range tile{j, std::min(j + blocks_.tile(), lines.end)};
    if (blocks_.is_dot()) {
      room.sums[0] = kernels_.dot(data.w, data.x, r_.terms);
    } else if (blocks_.count() == 1 && !in_place_ && update.is_plain()) {
      blocks_.sum(data, 0, tile, room, room.sums);
    } else {
      begin(update, data.c, tile, room.sums);
      for (std::int64_t block = 0; block < blocks_.count(); ++block) {
        blocks_.sum(data, block, tile, room, room.block);
        join(room.block, block == 0, update, data.c, tile, room.sums);
      }
    }
    finish(arguments, data.c, tile, room.sums);
  }
}

/// Few lines, many terms: members take blocks, whose sums are then added in order, tile after tile.
template <class In>
void Vectors<In>::run_blocks(const GemmArguments& arguments, const VectorOperands<In>& data, const Room& room,
                             Sum* partial, const Member& member) const {
  const Update<Sum> update = update_of(arguments);
  for (std::int64_t j = 0; j < r_.lines; j += blocks_.tile()) {
    const Range tile{j, std::min(j + blocks_.tile(), r_.lines)};
    const std::int64_t size = (tile.end - tile.begin) * r_.vectors;
    if (member.id == 0) begin(update, data.c, tile, room.sums);
    for (std::int64_t first = 0; first < blocks_.count(); first += partial_blocks_) {
      const std::int64_t round = std::min(partial_blocks_, blocks_.count() - first);
      const Range mine = part_of(round, member.count, member.id);
      for (std::int64_t slot = mine.begin; slot < mine.end; ++slot)
        blocks_.sum(data, first + slot, tile, room, partial + slot * size);
      member.meet();
      for (std::int64_t slot = 0; member.id == 0 && slot < round; ++slot)
        join(partial + slot * size, first + slot == 0, update, data.c, tile, room.sums);
      member.meet();
    }
    if (member.id == 0) finish(arguments, data.c, tile, room.sums);
  }
}

/// As the other kernels do it: sums across lines join C chunk by chunk, and alpha with them.
template <class In>
auto Vectors<In>::update_of(const GemmArguments& arguments) const -> Update<Sum> {
  if (!updates_by_chunk()) return {};
  return {arguments.alpha.template as<Sum>(), arguments.beta.template as<Sum>()};
}

/// sums <- C, where they are kept apart from it and begin with it.
template <class In>
void Vectors<In>::begin(const Update<Sum>& update, const void* c, Range lines, Sum* sums) const {
  if (in_place_ || update.beta == Sum{}) return;
  const std::int64_t here = lines.end - lines.begin;
  with_output([&]<class Out>() {
    for (std::int64_t i = 0; i < r_.vectors; ++i) {
      const Out* from = static_cast<const Out*>(c) + i * r_.c_vector_stride + lines.begin * r_.c_line_stride;
      with_step(r_.c_line_stride, [&, to = sums + i * here](auto step) {
        for (std::int64_t j = 0; j < here; ++j) to[j] = static_cast<Sum>(from[j * step]);
      });
    }
  });
}

/// Adds the sums of a chunk to those so far.
template <class In>
void Vectors<In>::join(const Sum* chunk, bool is_first, const Update<Sum>& update, void* c, Range lines,
                       Sum* sums) const {
  const Sum beta = is_first ? update.beta : Sum(1);
  if (in_place_)
    add_to_c(chunk, update.alpha, beta, c, lines);
  else
    kernels_.add_sums(chunk, sums, (lines.end - lines.begin) * r_.vectors, update.alpha, beta);
}

/// C <- alpha * sums + beta * C, where lie_as_c().
template <class In>
void Vectors<In>::add_to_c(const Sum* sums, Sum alpha, Sum beta, void* c, Range lines) const {
  const std::int64_t here = lines.end - lines.begin;
  for (std::int64_t i = 0; i < r_.vectors; ++i)
    kernels_.add_sums(sums + i * here, static_cast<Sum*>(c) + i * r_.c_vector_stride + lines.begin, here, alpha, beta);
}

template <class In>
void Vectors<In>::finish(const GemmArguments& arguments, void* c, Range lines, const Sum* sums) const {
  if (in_place_) return;
  if (lie_as_c() && !updates_by_chunk())
    return add_to_c(sums, arguments.alpha.template as<Sum>(), arguments.beta.template as<Sum>(), c, lines);
  const std::int64_t here = lines.end - lines.begin;
  const std::int64_t line_step = r_.across ? 1 : r_.vectors;
  const std::int64_t vector_step = r_.across ? here : 1;
  with_output([&]<class Out>() {
    VectorEpilogue<In, Out> epilogue{d_, arguments};
    if (updates_by_chunk()) {
      epilogue.alpha = Sum(1);
      epilogue.beta = Sum{};
    }
    const bool is_plain = epilogue.is_plain();
    for (std::int64_t i = 0; i < r_.vectors; ++i) {
      Out* to = static_cast<Out*>(c) + i * r_.c_vector_stride + lines.begin * r_.c_line_stride;
      const Sum* from = sums + i * vector_step;
      if (is_plain) {
        with_step(r_.c_line_stride, [&](auto step) {
          if (line_step == 1)
            for (std::int64_t j = 0; j < here; ++j) to[j * step] = static_cast<Out>(from[j]);
          else
            for (std::int64_t j = 0; j < here; ++j) to[j * step] = static_cast<Out>(from[j * line_step]);
        });
      } else {
        for (std::int64_t j = 0; j < here; ++j) {
          const std::int64_t line = lines.begin + j;
          epilogue.write(from[j * line_step], r_.w_is_a ? line : i, r_.w_is_a ? i : line, to[j * r_.c_line_stride]);
        }
      }
    }
  });
}

template <class In>
Status Vectors<In>::run(const GemmArguments& arguments, const Execution&) const {
  auto* scratch = static_cast<char*>(thread_scratch(workspace_bytes()));
  if (scratch == nullptr)
    return {StatusCode::out_of_memory, fmt::format("no memory for sums and vectors: {} bytes", workspace_bytes())};
  auto* partial = reinterpret_cast<Sum*>(scratch + threads_ * blocks_.bytes_per_thread());
  const auto work = [&](const Member& member) {
    const Room room = blocks_.room_of(scratch + member.id * blocks_.bytes_per_thread());
    if (d_.batch_count >= member.count) {
      const Range mine = part_of(d_.batch_count, member.count, member.id);
      for (std::int64_t p = mine.begin; p < mine.end; ++p)
        run_lines(arguments, operands(arguments, p), {0, r_.lines}, room);
      return;
    }
    for (std::int64_t p = 0; p < d_.batch_count; ++p) {
      const VectorOperands<In> data = operands(arguments, p);
      if (partial_blocks_ > 0) {
        run_blocks(arguments, data, room, partial, member);
        continue;
      }
      const std::int64_t unit = lines_of_part<In>(r_);
      const Range units = part_of(core::ceil_divide(r_.lines, unit), member.count, member.id);
      run_lines(arguments, data, {units.begin * unit, std::min(units.end * unit, r_.lines)}, room);
    }
  };
  if (threads_ == 1)
    work(Member{0, 1, nullptr});
  else
    run_team(threads_, work);
  return {};
}

/// A dot product by one thread; sums as run() forms them.
template <class In>
plan::QuickCall Vectors<In>::quick_call() const {
  if constexpr (std::is_floating_point_v<In>) {
    const bool is_one = d_.batch_count == 1 && !d_.a.pointer_array && !d_.b.pointer_array && !d_.c.pointer_array;
    if (blocks_.is_dot() && threads_ == 1 && is_one && !plan::has_scales(d_) && d_.bias == Bias::none &&
        d_.activation == Activation::none)
      return {QuickDot<In>::run, QuickDot<In>{kernels_.dot, r_.terms}};
  }
  return {};
}

}  // namespace

template <class In>
std::unique_ptr<plan::Executable> make_vectors(const plan::Problem& problem, const VectorKernels<In>& kernels) {
  return std::make_unique<Vectors<In>>(problem, kernels);
}

// clang-format off
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<float>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<double>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<Float16>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<BFloat16>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<Float8E4M3>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<Float8E5M2>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::int8_t>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::uint8_t>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::int16_t>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::int32_t>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::int64_t>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<WideInt32>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::complex<float>>&);
template std::unique_ptr<plan::Executable> make_vectors(const plan::Problem&, const VectorKernels<std::complex<double>>&);
// clang-format on

}  // namespace exactile::cpu
