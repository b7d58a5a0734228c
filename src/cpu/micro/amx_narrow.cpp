// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it and was given leave.
#include <immintrin.h>

#include "cpu/micro/amx_tile.hpp"
#include "cpu/micro/highway_lanes.hpp"
#include "cpu/micro/highway_magnitude.hpp"
#include "cpu/micro/highway_narrow_kernels.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Pairs as they are, with the smallest exponent of a panel behind the last of them, in each lane. Packing finds it in
/// the nearest cache; both operands need not be read once more for it.
template <>
struct Groups<Bf16Tiles> : Groups<Bf16Pairs> {
  static void finish_a(float* panel, std::int64_t width, std::int64_t groups) { finish_b(panel, width, groups); }
  static void finish_b(float* panel, std::int64_t width, std::int64_t groups) {
    const std::int64_t numbers = width * groups * Elements<Bf16Tiles>::group;
    const std::uint32_t least = smallest_magnitude(reinterpret_cast<const BFloat16*>(panel), 1, numbers, numbers);
    std::fill_n(panel + width * groups, width, std::bit_cast<float>(least >> 7));
  }
};

template <>
struct Groups<I8Tiles> : QuadsAsTheyAre {};

namespace {

/// Groups of terms alone, as panels of A are made from.
template <class K>
struct AsTheyAre : QuadsAsTheyAre {};
template <>
struct AsTheyAre<Bf16Tiles> : Groups<Bf16Pairs> {};

/// What LDTILECFG reads.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

constexpr TileConfiguration configuration_of(int height) {
  TileConfiguration c;
  const int above = height < amx::side ? height : amx::side;
  const int below = height - above;
  const int heights[] = {above, above, below, below, above, below, amx::side, amx::side};
  for (int t = 0; t < 8; ++t) {
    c.rows[t] = static_cast<std::uint8_t>(heights[t]);
    c.row_bytes[t] = heights[t] > 0 ? 64 : 0;
  }
  return c;
}

/// Rows that this thread's registers are configured for.
constinit thread_local int configured_rows = 0;

template <int... Below>
constexpr auto configurations(std::integer_sequence<int, Below...>) {
  return std::array{configuration_of(Below + 1)...};
}

/// The processor's tile registers. Assembly: GCC's intrinsics take no register that is a template's argument.
template <class K, class ElementA = Input<K>, class ElementB = Input<K>>
struct Registers {
  static void configure(int height) {
    static constexpr auto all = configurations(std::make_integer_sequence<int, amx::rows>());
    if (configured_rows == height) return;
    configured_rows = height;
    asm volatile("ldtilecfg %0" : : "m"(all[static_cast<std::size_t>(height - 1)]));
  }
  template <int Tile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
  }
  template <int Tile, class T>
  static void load(const T* from, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride * 4), "i"(Tile) : "memory");
  }
  template <int Tile, class T>
  static void load_passing(const T* from, std::int64_t stride) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride * 4), "i"(Tile) : "memory");
  }
  template <int Tile, class T>
  static void store(T* to, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride * 4), "i"(Tile) : "memory");
  }
  template <int Sums, int A, int B>
  static void multiply() {
    if constexpr (std::is_same_v<K, Bf16Tiles>)
      asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
    else if constexpr (std::is_signed_v<ElementA> && std::is_signed_v<ElementB>)
      asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
    else if constexpr (std::is_signed_v<ElementA>)
      asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
    else if constexpr (std::is_signed_v<ElementB>)
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
    else
      asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
  static void add_sums(const Sum<K>* sums, Sum<K>* c, std::int64_t columns, Sum<K> alpha, Sum<K> beta) {
    if (columns != amx::lanes || alpha != Sum<K>(1) || beta != Sum<K>(1))
      return HWY_NAMESPACE::add_sums(sums, c, columns, alpha, beta);
    const Lanes<Sum<K>> d;
    for (int l = 0; l < amx::lanes; l += amx::side)
      hn::StoreU(hn::Add(hn::LoadU(d, sums + l), hn::LoadU(d, c + l)), d, c + l);
  }
};

/// Panels of A with their rows one behind the other, each of lanes_of(terms): what tile registers load.
template <class K>
void copy_rows_of_a(const Input<K>* from, std::int64_t row_stride, std::int64_t rows, std::int64_t terms,
                    Lane<K>* panel) {
  for (std::int64_t i = 0; i < rows; ++i)
    pack_terms<K, AsTheyAre<K>>(from + i * row_stride, terms, panel + i * lanes_of<K>(terms));
}

/// The same of any strides. Corrections follow the last row.
template <class K>
void pack_rows_of_a(const Input<K>* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                    std::int64_t width, std::int64_t terms, Lane<K>* panels) {
  constexpr std::int64_t at_once = amx::side * Elements<K>::group;
  alignas(64) Lane<K> by_groups[amx::side * amx::rows];
  const std::int64_t groups = lanes_of<K>(terms);
  const std::int64_t panel = width * packed_lanes<K>(terms);
  for (std::int64_t first = 0; first < lanes; first += width, panels += panel) {
    const std::int64_t here = lanes - first < width ? lanes - first : width;
    for (std::int64_t l = here; l < width; ++l)
      for (std::int64_t g = 0; g < groups; ++g) panels[l * groups + g] = Lane<K>(0);
    if (term_stride == 1) copy_rows_of_a<K>(from + first * lane_stride, lane_stride, here, terms, panels);
    for (std::int64_t p = 0; term_stride != 1 && p < terms; p += at_once) {
      const std::int64_t some = terms - p < at_once ? terms - p : at_once;
      pack_groups<K, false, AsTheyAre<K>>(from + first * lane_stride + p * term_stride, lane_stride, term_stride, here,
                                          here, some, by_groups);
      turn(by_groups, here, lanes_of<K>(some), groups, here, panels + p / Elements<K>::group);
    }
    Groups<K>::finish_a(panels, width, groups);
  }
}

/// Columns of 64 bytes of a row of B, and vectors of groups that they become.
template <class K>
inline constexpr std::int64_t stretch_columns = 64 / static_cast<std::int64_t>(sizeof(Input<K>));
template <class K>
struct Stretch {
  __m512i vectors[Elements<K>::group];
};

/// Two rows of 32 columns.
inline Stretch<Bf16Tiles> in_groups(const BFloat16* from, std::int64_t stride, Magnitudes& least) {
  alignas(64) static constexpr auto order = [] {
    std::array<std::uint16_t, 64> o{};
    for (std::size_t i = 0; i < 64; ++i) o[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
    return o;
  }();
  const __m512i first = _mm512_loadu_si512(from);
  const __m512i second = _mm512_loadu_si512(from + stride);
  least = hn::Min(least, hn::Min(less_one(Magnitudes{first}), less_one(Magnitudes{second})));
  return {{_mm512_permutex2var_epi16(first, _mm512_load_si512(order.data()), second),
           _mm512_permutex2var_epi16(first, _mm512_load_si512(order.data() + 32), second)}};
}

/// Four rows of 64 columns: quads of four columns in each 128 bits, then these in order.
inline Stretch<I8Tiles> in_groups(const std::int8_t* from, std::int64_t stride, Magnitudes&) {
  const auto row = [&](std::int64_t p) { return _mm512_loadu_si512(from + p * stride); };
  const __m512i low_01 = _mm512_unpacklo_epi8(row(0), row(1));
  const __m512i high_01 = _mm512_unpackhi_epi8(row(0), row(1));
  const __m512i low_23 = _mm512_unpacklo_epi8(row(2), row(3));
  const __m512i high_23 = _mm512_unpackhi_epi8(row(2), row(3));
  const __m512i quads[] = {_mm512_unpacklo_epi16(low_01, low_23), _mm512_unpackhi_epi16(low_01, low_23),
                           _mm512_unpacklo_epi16(high_01, high_23), _mm512_unpackhi_epi16(high_01, high_23)};
  const __m512i a = _mm512_maskz_shuffle_i32x4(0xffff, quads[0], quads[1], 0x44);
  const __m512i b = _mm512_maskz_shuffle_i32x4(0xffff, quads[0], quads[1], 0xee);
  const __m512i c = _mm512_maskz_shuffle_i32x4(0xffff, quads[2], quads[3], 0x44);
  const __m512i d = _mm512_maskz_shuffle_i32x4(0xffff, quads[2], quads[3], 0xee);
  return {{_mm512_maskz_shuffle_i32x4(0xffff, a, c, 0x88), _mm512_maskz_shuffle_i32x4(0xffff, a, c, 0xdd),
           _mm512_maskz_shuffle_i32x4(0xffff, b, d, 0x88), _mm512_maskz_shuffle_i32x4(0xffff, b, d, 0xdd)}};
}

/// Whole panels, as many as `Stretches` of a row fill, for all whole groups of terms.
template <class K, int Stretches>
void pack_stretches(const Input<K>* from, std::int64_t term_stride, std::int64_t terms, Lane<K>* panels,
                    std::int64_t panel_lanes, Magnitudes (&least)[Stretches]) {
  constexpr std::int64_t group = Elements<K>::group;
  constexpr std::int64_t ahead = terms_ahead * group;
  for (std::int64_t p = 0; p + group <= terms; p += group, panels += amx::lanes) {
    const Input<K>* const row = from + p * term_stride;
    if (p + ahead + group <= terms)
      ask_for_rows(row + ahead * term_stride, term_stride, Stretches * stretch_columns<K>, group);
    unrolled<Stretches>([&](auto s) __attribute__((always_inline)) {
      const Stretch<K> stretch = in_groups(row + s * stretch_columns<K>, term_stride, least[s]);
      unrolled<static_cast<int>(group)>([&](auto v) __attribute__((always_inline)) {
        constexpr std::int64_t at = s * group + v;
        _mm512_storeu_si512(panels + at / 2 * panel_lanes + at % 2 * amx::side, stretch.vectors[v]);
      });
    });
  }
}

/// What follows the whole groups of a panel.
template <class K>
void finish_panel(const Input<K>* from, std::int64_t term_stride, std::int64_t terms, Lane<K>* panel,
                  Magnitudes least) {
  constexpr std::int64_t group = Elements<K>::group;
  const std::int64_t groups = terms / group;
  if (const std::int64_t rest = terms % group; rest > 0)
    pack_row<K, Groups<K>>(from + groups * group * term_stride, term_stride, amx::lanes, rest,
                           panel + groups * amx::lanes);
  if constexpr (std::is_same_v<K, Bf16Tiles>) {
    for (std::int64_t l = groups * amx::lanes; l < lanes_of<K>(terms) * amx::lanes; l += amx::side)
      least = hn::Min(least, less_one(Magnitudes{_mm512_loadu_si512(panel + l)}));
    std::fill_n(panel + lanes_of<K>(terms) * amx::lanes, amx::lanes, std::bit_cast<float>(smallest_of(least) >> 7));
  }
}

/// Whole panels whose columns are neighbours, some side by side; the rest as elsewhere.
template <class K>
void pack_panels_of_b(const Input<K>* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                      std::int64_t width, std::int64_t terms, Lane<K>* panels) {
  const std::int64_t panel_lanes = width * packed_lanes<K>(terms);
  const auto pack = [&]<int Stretches>(std::integral_constant<int, Stretches>) {
    constexpr std::int64_t columns = Stretches * stretch_columns<K>;
    for (; lane_stride == 1 && width == amx::lanes && lanes >= columns; lanes -= columns, from += columns) {
      Magnitudes least[Stretches];
      for (Magnitudes& each : least) each = hn::Set(Lanes<std::uint16_t>(), 0xffff);
      pack_stretches<K, Stretches>(from, term_stride, terms, panels, panel_lanes, least);
      for (std::int64_t i = 0; i < columns / amx::lanes; ++i, panels += panel_lanes)
        finish_panel<K>(from + i * amx::lanes, term_stride, terms, panels, least[i * amx::lanes / stretch_columns<K>]);
    }
  };
  pack(std::integral_constant<int, 4>());
  pack(std::integral_constant<int, 1>());
  if (lanes > 0) pack_groups<K, true>(from, lane_stride, term_stride, lanes, width, terms, panels);
}

/// The sums of tile registers by multiply-adds, for rows of A and one vector of columns: the even terms of sixteen
/// pairs from zero, and the odd ones, then both together.
template <int Rows>
void add_in_order_of_tiles(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                           std::int64_t pairs, float* sums) {
  const Lanes<float> d;
  const Lanes<std::uint32_t> bits;
  const auto high = hn::Set(bits, 0xffff0000U);
  const auto even_of = [&](Vector<float> v) { return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(bits, v))); };
  const auto odd_of = [&](Vector<float> v) { return hn::BitCast(d, hn::And(high, hn::BitCast(bits, v))); };
  Vector<float> all[Rows];
  for (int i = 0; i < Rows; ++i) all[i] = hn::Zero(d);
  for (std::int64_t first = 0; first < pairs; first += amx::side) {
    Vector<float> even[Rows];
    Vector<float> odd[Rows];
    for (int i = 0; i < Rows; ++i) even[i] = odd[i] = hn::Zero(d);
    const std::int64_t end = pairs - first < amx::side ? pairs : first + amx::side;
    for (std::int64_t p = first; p < end; ++p) {
      const auto row = hn::LoadU(d, b + p * b_stride);
      for (int i = 0; i < Rows; ++i) {
        const auto lane =
            hn::BitCast(d, hn::Set(bits, std::bit_cast<std::uint32_t>(amx::lane_at(a + i * a_stride + p))));
        even[i] = hn::MulAdd(even_of(lane), even_of(row), even[i]);
        odd[i] = hn::MulAdd(odd_of(lane), odd_of(row), odd[i]);
      }
    }
    for (int i = 0; i < Rows; ++i) all[i] = hn::Add(all[i], hn::Add(even[i], odd[i]));
  }
  for (int i = 0; i < Rows; ++i) hn::StoreU(all[i], d, sums + i * amx::lanes);
}

template <AOrder Order, int Height, int Vectors>
void sums_in_order_of_tiles(const TileShape& shape, const float* a, const float* b, float* c, float alpha, float beta) {
  constexpr int together = 4;
  alignas(64) float sums[Height * amx::lanes];
  const std::int64_t a_stride = Order == AOrder::rows ? shape.a_stride : shape.k;
  for (int v = 0; v < Vectors; ++v) {
    const float* const column = b + v * amx::side;
    int i = 0;
    for (; i + together <= Height; i += together)
      add_in_order_of_tiles<together>(a + i * a_stride, a_stride, column, shape.b_stride, shape.k,
                                      sums + i * amx::lanes + v * amx::side);
    for (; i < Height; ++i)
      add_in_order_of_tiles<1>(a + i * a_stride, a_stride, column, shape.b_stride, shape.k,
                               sums + i * amx::lanes + v * amx::side);
  }
  for (int i = 0; i < Height; ++i)
    add_sums(sums + i * amx::lanes, c + i * shape.c_stride, (Vectors - 1) * amx::side + shape.last_lanes, alpha, beta);
}

/// Whether tile registers leave the sums of multiply-adds: where all products are at least 2^-112 no sum is subnormal.
template <AOrder Order, int Height>
bool tiles_are_exact(const TileShape& shape, const float* a, const float* b) {
  constexpr int bias = 127;
  const auto exponent = [](float lane) { return std::bit_cast<std::int32_t>(lane); };
  const std::int32_t of_b = exponent(b[shape.k * shape.b_stride]);
  const std::int32_t of_a = Order == AOrder::rows ? shape.least_of_a : exponent(a[Height * shape.k]);
  return of_a > 0 && of_b > 0 && of_a + of_b - 2 * bias >= -112 && _MM_GET_ROUNDING_MODE() == _MM_ROUND_NEAREST;
}

std::int32_t least_exponent(const BFloat16* from, std::int64_t rows, std::int64_t stride, std::int64_t terms) {
  return static_cast<std::int32_t>(smallest_magnitude(from, rows, stride, terms) >> 7);
}

using Bf16Registers = amx::Kernels<Bf16Tiles, Registers<Bf16Tiles>>;

template <AOrder Order, int Height, int Vectors>
void bf16_tile(const TileShape& shape, const float* a, const float* b, float* c, float alpha, float beta) {
  if (tiles_are_exact<Order, Height>(shape, a, b))
    Bf16Registers::kernel<Order, Height, Vectors>(shape, a, b, c, alpha, beta);
  else
    sums_in_order_of_tiles<Order, Height, Vectors>(shape, a, b, c, alpha, beta);
}
template <AOrder Order, int Height>
void asking_bf16_tile(const TileShape& shape, const float* a, const float* b, float* c, float alpha, float beta,
                      const Ahead<float>& ahead) {
  if (tiles_are_exact<Order, Height>(shape, a, b))
    Bf16Registers::asking<Order, Height, 2>(shape, a, b, c, alpha, beta, ahead);
  else
    sums_in_order_of_tiles<Order, Height, 2>(shape, a, b, c, alpha, beta);
}

using Heights = std::make_integer_sequence<int, amx::rows>;

template <AOrder Order, int... Below>
constexpr auto bf16_tiles(std::integer_sequence<int, Below...>) {
  using Kernel = MicroKernels<Bf16Tiles>::Kernel;
  return std::array{std::array<Kernel, amx::rows>{&bf16_tile<Order, Below + 1, 1>...},
                    std::array<Kernel, amx::rows>{&bf16_tile<Order, Below + 1, 2>...}};
}
template <AOrder Order, int... Below>
constexpr auto asking_bf16_tiles(std::integer_sequence<int, Below...>) {
  return std::array<MicroKernels<Bf16Tiles>::AskingKernel, amx::rows>{&asking_bf16_tile<Order, Below + 1>...};
}

MicroKernels<Bf16Tiles>::Kernel find_bf16_tile(AOrder order, int height, int vectors, bool) {
  static constexpr std::array table{bf16_tiles<AOrder::rows>(Heights()), bf16_tiles<AOrder::columns>(Heights())};
  const auto& by_vectors = table[order == AOrder::rows ? 0 : 1];
  return by_vectors[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(height - 1)];
}
MicroKernels<Bf16Tiles>::AskingKernel find_asking_bf16_tile(AOrder order, int height, int) {
  static constexpr std::array table{asking_bf16_tiles<AOrder::rows>(Heights()),
                                    asking_bf16_tiles<AOrder::columns>(Heights())};
  return table[order == AOrder::rows ? 0 : 1][static_cast<std::size_t>(height - 1)];
}

template <class K, class A = Input<K>, class B = Input<K>>
constexpr MicroKernels<K> tile_kernels() {
  using Found = amx::Kernels<K, Registers<K, A, B>>;
  return {.tile = &Found::tile,
          .asking_tile = &Found::asking_tile,
          .add_sums = &add_sums<Sum<K>>,
          .pack_a = &pack_rows_of_a<K>,
          .pack_b = &pack_panels_of_b<K>,
          .lanes = amx::side,
          .vectors = 2,
          .rows = amx::rows,
          .most_vectors = 2,
          .sums = 2 * amx::rows,
          .instructions = 1};
}

}  // namespace
}  // namespace exactile::cpu::HWY_NAMESPACE

namespace exactile::cpu {

void amx_release() {
  using HWY_NAMESPACE::configured_rows;
  if (configured_rows == 0) return;
  configured_rows = 0;
  asm volatile("tilerelease");
}

const MicroKernels<I8Tiles>& amx_bytes(ElementType a, ElementType b) {
  using HWY_NAMESPACE::tile_kernels;
  static constexpr std::array tables{tile_kernels<I8Tiles>(), tile_kernels<I8Tiles, std::int8_t, std::uint8_t>(),
                                     tile_kernels<I8Tiles, std::uint8_t, std::int8_t>(),
                                     tile_kernels<I8Tiles, std::uint8_t, std::uint8_t>()};
  return tables[(a == ElementType::i8 ? 0U : 2U) + (b == ElementType::i8 ? 0U : 1U)];
}
const MicroKernels<Bf16Tiles>& amx_bf16() {
  static constexpr auto table = [] {
    auto kernels = HWY_NAMESPACE::tile_kernels<Bf16Tiles>();
    kernels.tile = &HWY_NAMESPACE::find_bf16_tile;
    kernels.asking_tile = &HWY_NAMESPACE::find_asking_bf16_tile;
    kernels.least_of_a = &HWY_NAMESPACE::least_exponent;
    return kernels;
  }();
  return table;
}

}  // namespace exactile::cpu
