// SPDX-License-Identifier: Apache-2.0
/// \file
/// One warp's share of a tile: WM x WN sums in registers, fed from stages of shared memory, and its way to C.
///
/// Which row, column or k of the tile stands for which of the instruction is free as long as A, B and D agree. The
/// choice here lets every thread read two doubles that the instruction wants in neighbouring registers with one 16-byte
/// load, and eight neighbouring threads 128 bytes from eight different places of a row:
///   rows: g, g + 8 of the instruction are 2g, 2g + 1 of the tile's 16; where A lies along K, with bits 0 and 1 of g
///     exchanged
///   columns: g is g / 2 + 4 (g mod 2)
///   k: t, t + 4 are 2t, 2t + 1 of each 8
#pragma once

#include "cuda/isa/mma_f64.cuh"
#include "cuda/kernels/dmma/stage.cuh"

namespace exactile::cuda::dmma {

enum class Instruction : std::uint8_t { m8n8k4, m16n8k8, m16n8k16 };

/// How A lies in a stage: by rows (the elements of a column are neighbours), along K as B does, or as complex numbers,
/// each of which is two rows by two terms of A:
///
///     [ Re z  -Im z ]    z is an element of the transposed B of a complex product (kernels/complex/real_form.hpp)
///     [ Im z   Re z ]
///
/// `expanded`: by rows, made of complex numbers on the way (sm90_expand.cuh).
enum class FormOfA : std::uint8_t { by_rows, along_k, complex, expanded };

/// StepK are loaded at once: 8 take fewer registers, 16 leave more time for the loads. The order of summation is
/// the same.
template <int WM, int WN, Instruction I, int StepK, FormOfA A = FormOfA::by_rows>
class WarpTile {
  static_assert(WM % 16 == 0 && WN % 8 == 0);

 public:
  static constexpr int rows = WM;
  static constexpr int columns = WN;
  static constexpr int a_parts = WM / 16;
  static constexpr int b_parts = WN / 8;
  static constexpr int step_k = StepK;
  static constexpr int steps_per_block = block_k / step_k;

  static constexpr bool has_complex_a = A == FormOfA::complex;
  static constexpr bool has_a_along_k = A == FormOfA::along_k;
  static constexpr bool has_a_by_rows = !has_complex_a && !has_a_along_k;
  static constexpr int a_lines = has_complex_a ? block_k / 2 : block_k;  ///< of 16 rows of A in a stage

  /// `row` and `column` are the warp's first ones in the block's tile.
  __device__ WarpTile(int lane, int row, int column) : row_(row + 2 * pair_of(lane / 4)), column_(column + lane % 4) {
    const int g = lane / 4;
    const int t = lane % 4;
    const int line = line_of(g);
#pragma unroll
    for (int eight = 0; eight < 2; ++eight)
#pragma unroll
      for (int j = 0; j < pairs; ++j) {
        const int k = t + 4 * eight;
        a_offset_[eight][j] = row / 16 * a_lines * line_bytes +
                              (has_complex_a   ? k * line_bytes + ((line ^ k) << 4)
                               : has_a_along_k ? stage_offset<Side::b>(2 * pair_of(g) + j, 8 * eight + 2 * t)
                                               : stage_offset<Side::a>(2 * g, 8 * eight + 2 * t + j));
      }
    b_offset_[0] = column * line_bytes + line * line_bytes + ((t ^ line) << 4);
    b_offset_[1] = column * line_bytes + line * line_bytes + ((t ^ line ^ 4) << 4);
  }

  /// Of a complex A, before anything is multiplied: whether it, or the other factor, is conjugated.
  __device__ void conjugate(bool a, bool other) {
    constexpr std::uint32_t sign = 0x80000000;
    signs_[0] = a ? sign : 0;
    signs_[1] = a == other ? sign : 0;
    signs_[2] = other ? sign : 0;
  }

  __device__ void clear() {
#pragma unroll
    for (auto& row : sums_)
#pragma unroll
      for (auto& part : row)
#pragma unroll
        for (double& x : part) x = 0;
  }

  /// Where step_k of K lie in shared memory: step `index` of a block.
  struct Step {
    const char* a;
    const char* b;
    int index;
  };

  /// Loads what the first products of the first step need; multiply() loads everything else ahead of its use.
  __device__ void prepare(const Step& step) {
    load_b(b_[0], step);
    load_a(a_[0], step, 0);
  }

  /// Whether a step's fragments of B take the registers of those before them.
  static constexpr bool loads_in_place = I == Instruction::m16n8k16;
  static_assert(!loads_in_place || (StepK == 16 && a_parts % 2 == 0 && has_a_by_rows));

  /// Multiplies a step and, if there is `More`, loads what the first products of the next one need. `loaded()` is
  /// called when all of this step is in registers; `next()` names the one that follows, which it may have to wait for.
  /// `Parity` alternates from step to step, beginning with 0 after prepare().
  template <int Parity, bool More, class Loaded, class Next>
  __device__ void multiply(const Step& step, Loaded&& loaded, Next&& next) {
    if constexpr (loads_in_place) return multiply_in_place<More>(step, loaded, next);
    constexpr int first = Parity * a_parts;
#pragma unroll
    for (int i = 0; i < a_parts; ++i) {
      if (i + 1 < a_parts) {
        load_a(a_[(first + i + 1) % 2], step, i + 1);
      } else {
        loaded();
        if (const Step following = next(); More) {
          load_b(b_[1 - Parity], following);
          load_a(a_[(first + a_parts) % 2], following, 0);
        }
      }
#pragma unroll
      for (int eight = 0; eight < step_k / 8; ++eight) {
        const auto& loaded_a = a_[(first + i) % 2][eight];
        if constexpr (has_complex_a) {
          const double a[4] = {loaded_a[0], with_sign(loaded_a[1], signs_[0]), with_sign(loaded_a[1], signs_[1]),
                               with_sign(loaded_a[0], signs_[2])};
#pragma unroll
          for (int j = 0; j < b_parts; ++j) multiply_add(sums_[i][j], a, b_[Parity][j][eight]);
        } else {
#pragma unroll
          for (int j = 0; j < b_parts; ++j) multiply_add(sums_[i][j], loaded_a, b_[Parity][j][eight]);
        }
      }
    }
  }

  /// A thread's sums of one row of fragments: two rows of the tile by `places` columns.
  static constexpr int places = 2 * b_parts;
  [[nodiscard]] __device__ int row(int part) const { return row_ + 16 * part; }
  [[nodiscard]] __device__ int column(int place) const { return column_ + 4 * place; }
  /// The sum of row(part) and column(place), and of the row below.
  [[nodiscard]] __device__ double2 sums(int part, int place) const {
    const double(&fragment_sums)[4] = sums_[part][place / 2];
    return make_double2(fragment_sums[place % 2], fragment_sums[2 + place % 2]);
  }

 private:
  static constexpr int pairs = has_complex_a ? 1 : 2;  ///< that a thread loads of eight terms of 16 rows of A
  using LoadedA = double[step_k / 8][2 * pairs];
  using B = double[step_k / 8][2];

  /// Which of eight columns of B, and of eight pairs of rows of a complex A, the instruction's g is.
  [[nodiscard]] static __device__ int line_of(int g) { return g / 2 + g % 2 * 4; }
  /// Which of eight pairs of rows of A the instruction's g is.
  [[nodiscard]] static __device__ int pair_of(int g) {
    if (has_complex_a) return line_of(g);
    return has_a_along_k ? (g & 4) + g % 2 * 2 + g / 2 % 2 : g;
  }
  [[nodiscard]] static __device__ double with_sign(double x, std::uint32_t sign) {
    return __hiloint2double(__double2hiint(x) ^ static_cast<int>(sign), __double2loint(x));
  }

  static __device__ void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
    if constexpr (I == Instruction::m16n8k8) {
      isa::mma_m16n8k8(d, a, b);
    } else {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        isa::mma_m8n8k4(d[0], d[1], a[2 * j], b[j]);
        isa::mma_m8n8k4(d[2], d[3], a[2 * j + 1], b[j]);
      }
    }
  }
  /// The same where B has registers for one step. Each load follows a product that does not need its registers, so that
  /// it finds them read.
  template <bool More, class Loaded, class Next>
  __device__ void multiply_in_place(const Step& step, Loaded&& loaded, Next&& next) {
    Step following;
#pragma unroll
    for (int i = 0; i < a_parts; ++i)
#pragma unroll
      for (int j = 0; j < b_parts; ++j) {
        isa::mma_m16n8k16(sums_[i][j], a_[i % 2], b_[0][j]);
        if (j == 0 && i + 1 < a_parts) load_a(a_[(i + 1) % 2], step, i + 1);
        if (j == 0 && i + 1 == a_parts) {
          loaded();
          following = next();
          if (More) load_a(a_[0], following, 0);
        }
        if (More && j > 0 && i + 1 == a_parts) load_b_part(b_[0][j - 1], following, j - 1);
      }
    if (More) load_b_part(b_[0][b_parts - 1], following, b_parts - 1);
  }
  __device__ void load_a(LoadedA& a, const Step& step, int part) const {
#pragma unroll
    for (int eight = 0; eight < step_k / 8; ++eight)
#pragma unroll
      for (int j = 0; j < pairs; ++j) {
        const int index = step.index * step_k / 8 + eight;
        const std::uint32_t at = has_a_by_rows ? a_offset_[0][j] + index * 8 * line_bytes : a_offset_[index][j];
        const auto pair = *reinterpret_cast<const double2*>(step.a + at + part * a_lines * line_bytes);
        a[eight][has_a_along_k ? j : 2 * j] = pair.x;
        a[eight][has_a_along_k ? 2 + j : 2 * j + 1] = pair.y;
      }
  }
  __device__ void load_b(B (&b)[b_parts], const Step& step) const {
#pragma unroll
    for (int part = 0; part < b_parts; ++part) load_b_part(b[part], step, part);
  }
  __device__ void load_b_part(B& b, const Step& step, int part) const {
#pragma unroll
    for (int eight = 0; eight < step_k / 8; ++eight) {
      const auto pair = *reinterpret_cast<const double2*>(step.b + b_offset_[step.index * step_k / 8 + eight] +
                                                          part * 8 * line_bytes);
      b[eight][0] = pair.x;
      b[eight][1] = pair.y;
    }
  }

  double sums_[a_parts][b_parts][4];
  LoadedA a_[2];
  B b_[loads_in_place ? 1 : 2][b_parts];
  std::uint32_t a_offset_[2][pairs];  ///< of the first and the other eight terms of a block
  std::uint32_t b_offset_[2];
  std::uint32_t signs_[3];  ///< of a complex A
  int row_;
  int column_;
};

}  // namespace exactile::cuda::dmma
