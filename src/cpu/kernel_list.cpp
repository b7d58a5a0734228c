// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernel_list.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cpu/engine_entries.hpp"
#include "cpu/naive.hpp"
#include "cpu/portable.hpp"
#include "cpu/vector_entries.hpp"

namespace exactile::cpu {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list {
#if defined(__x86_64__)
    vector_entry<Isa::avx512, float>("avx512_f32_vectors"), vector_entry<Isa::avx512, double>("avx512_f64_vectors"),
        vector_entry<Isa::avx512, Float16>("avx512_f16_vectors"),
        vector_entry<Isa::avx512, BFloat16>("avx512_bf16_vectors"),
        vector_entry<Isa::avx512, Float8E4M3>("avx512_f8e4m3_vectors"),
        vector_entry<Isa::avx512, Float8E5M2>("avx512_f8e5m2_vectors"),
        byte_vector_entry<Isa::avx512>("avx512_i8_vectors"),
        vector_entry<Isa::avx512, std::int16_t>("avx512_i16_vectors"),
        vector_entry<Isa::avx512, std::int32_t>("avx512_i32_vectors"),
        vector_entry<Isa::avx512, std::int64_t>("avx512_i64_vectors"),
        vector_entry<Isa::avx512, WideInt32>("avx512_i32_i64_vectors"),
        vector_entry<Isa::avx512, std::complex<float>>("avx512_cf32_vectors"),
        vector_entry<Isa::avx512, std::complex<double>>("avx512_cf64_vectors"),
        direct_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_direct"),
        stream_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_stream"),
        deep_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_deep"),
        packed_entry<Isa::avx512, float, avx512_f32, "avx512_f32_fma_12x32">(),
        direct_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_direct"),
        stream_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_stream"),
        deep_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_deep"),
        packed_entry<Isa::avx512, double, avx512_f64, "avx512_f64_fma_12x16">(),
        direct_entry<Isa::avx512, std::complex<float>, avx512_cf32>("avx512_cf32_fma_direct"),
        deep_entry<Isa::avx512, std::complex<float>, avx512_cf32>("avx512_cf32_fma_deep"),
        packed_entry<Isa::avx512, std::complex<float>, avx512_cf32, "avx512_cf32_fma_6x16">(),
        direct_entry<Isa::avx512, std::complex<double>, avx512_cf64>("avx512_cf64_fma_direct"),
        deep_entry<Isa::avx512, std::complex<double>, avx512_cf64>("avx512_cf64_fma_deep"),
        packed_entry<Isa::avx512, std::complex<double>, avx512_cf64, "avx512_cf64_fma_6x8">(),
        direct_entry<Isa::avx512, std::int32_t, avx512_i32>("avx512_i32_direct"),
        deep_entry<Isa::avx512, std::int32_t, avx512_i32>("avx512_i32_deep"),
        packed_entry<Isa::avx512, std::int32_t, avx512_i32, "avx512_i32_12x32">(),
        direct_entry<Isa::avx512, std::int64_t, avx512_i64>("avx512_i64_direct"),
        deep_entry<Isa::avx512, std::int64_t, avx512_i64>("avx512_i64_deep"),
        packed_entry<Isa::avx512, std::int64_t, avx512_i64, "avx512_i64_12x16">(),
        near_entry<Isa::amx, Bf16Tiles, amx_bf16>("amx_bf16_near"),
        deep_entry<Isa::amx, Bf16Tiles, amx_bf16>("amx_bf16_deep"),
        packed_entry<Isa::amx, Bf16Tiles, amx_bf16, "amx_bf16_32x32">(),
        near_bf16_entry<Isa::avx512_bf16, Bf16Pairs, avx512_bf16_pairs, avx512_bf16>("avx512_bf16_pairs_near"),
        deep_bf16_entry<Isa::avx512_bf16, Bf16Pairs, avx512_bf16_pairs, avx512_bf16>("avx512_bf16_pairs_deep"),
        bf16_entry<Isa::avx512_bf16, Bf16Pairs, avx512_bf16_pairs, avx512_bf16, "avx512_bf16_pairs_12x32">(),
        near_entry<Isa::avx512, Widened<BFloat16>, avx512_bf16>("avx512_bf16_widened_near"),
        deep_entry<Isa::avx512, Widened<BFloat16>, avx512_bf16>("avx512_bf16_widened_deep"),
        packed_entry<Isa::avx512, Widened<BFloat16>, avx512_bf16, "avx512_bf16_widened_12x32">(),
        near_entry<Isa::avx512, Widened<Float16>, avx512_f16>("avx512_f16_widened_near"),
        deep_entry<Isa::avx512, Widened<Float16>, avx512_f16>("avx512_f16_widened_deep"),
        packed_entry<Isa::avx512, Widened<Float16>, avx512_f16, "avx512_f16_widened_12x32">(),
        near_entry<Isa::avx512, Widened<Float8E4M3>, avx512_f8e4m3>("avx512_f8e4m3_widened_near"),
        deep_entry<Isa::avx512, Widened<Float8E4M3>, avx512_f8e4m3>("avx512_f8e4m3_widened_deep"),
        packed_entry<Isa::avx512, Widened<Float8E4M3>, avx512_f8e4m3, "avx512_f8e4m3_widened_12x32">(),
        near_entry<Isa::avx512, Widened<Float8E5M2>, avx512_f8e5m2>("avx512_f8e5m2_widened_near"),
        deep_entry<Isa::avx512, Widened<Float8E5M2>, avx512_f8e5m2>("avx512_f8e5m2_widened_deep"),
        packed_entry<Isa::avx512, Widened<Float8E5M2>, avx512_f8e5m2, "avx512_f8e5m2_widened_12x32">(),
        near_entry<Isa::amx, I8Tiles, amx_bytes>("amx_i8_near"),
        deep_entry<Isa::amx, I8Tiles, amx_bytes>("amx_i8_deep"),
        packed_entry<Isa::amx, I8Tiles, amx_bytes, "amx_i8_32x32">(),
        near_entry<Isa::avx512_vnni, I8Quads, avx512_vnni_bytes>("avx512_vnni_i8_near"),
        deep_entry<Isa::avx512_vnni, I8Quads, avx512_vnni_bytes>("avx512_vnni_i8_deep"),
        packed_entry<Isa::avx512_vnni, I8Quads, avx512_vnni_bytes, "avx512_vnni_i8_12x32">(),
        near_entry<Isa::avx512_vnni, I16Pairs, avx512_vnni_i16>("avx512_vnni_i16_near"),
        deep_entry<Isa::avx512_vnni, I16Pairs, avx512_vnni_i16>("avx512_vnni_i16_deep"),
        packed_entry<Isa::avx512_vnni, I16Pairs, avx512_vnni_i16, "avx512_vnni_i16_12x32">(),
        near_entry<Isa::avx512, I8Pairs, avx512_bytes>("avx512_i8_pairs_near"),
        deep_entry<Isa::avx512, I8Pairs, avx512_bytes>("avx512_i8_pairs_deep"),
        packed_entry<Isa::avx512, I8Pairs, avx512_bytes, "avx512_i8_pairs_12x32">(),
        near_entry<Isa::avx512, I16Pairs, avx512_i16>("avx512_i16_pairs_near"),
        deep_entry<Isa::avx512, I16Pairs, avx512_i16>("avx512_i16_pairs_deep"),
        packed_entry<Isa::avx512, I16Pairs, avx512_i16, "avx512_i16_pairs_12x32">(),
        near_entry<Isa::avx512, I32Wide, avx512_i32_wide>("avx512_i32_i64_near"),
        deep_entry<Isa::avx512, I32Wide, avx512_i32_wide>("avx512_i32_i64_deep"),
        packed_entry<Isa::avx512, I32Wide, avx512_i32_wide, "avx512_i32_i64_12x16">(),
        vector_entry<Isa::avx2, float>("avx2_f32_vectors"), vector_entry<Isa::avx2, double>("avx2_f64_vectors"),
        vector_entry<Isa::avx2, Float16>("avx2_f16_vectors"), vector_entry<Isa::avx2, BFloat16>("avx2_bf16_vectors"),
        vector_entry<Isa::avx2, Float8E4M3>("avx2_f8e4m3_vectors"),
        vector_entry<Isa::avx2, Float8E5M2>("avx2_f8e5m2_vectors"), byte_vector_entry<Isa::avx2>("avx2_i8_vectors"),
        vector_entry<Isa::avx2, std::int16_t>("avx2_i16_vectors"),
        vector_entry<Isa::avx2, std::int32_t>("avx2_i32_vectors"),
        vector_entry<Isa::avx2, std::int64_t>("avx2_i64_vectors"),
        vector_entry<Isa::avx2, WideInt32>("avx2_i32_i64_vectors"),
        vector_entry<Isa::avx2, std::complex<float>>("avx2_cf32_vectors"),
        vector_entry<Isa::avx2, std::complex<double>>("avx2_cf64_vectors"),
        direct_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_direct"),
        stream_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_stream"),
        deep_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_deep"),
        packed_entry<Isa::avx2, float, avx2_f32, "avx2_f32_fma_6x16">(),
        direct_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_direct"),
        stream_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_stream"),
        deep_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_deep"),
        packed_entry<Isa::avx2, double, avx2_f64, "avx2_f64_fma_6x8">(),
        direct_entry<Isa::avx2, std::complex<float>, avx2_cf32>("avx2_cf32_fma_direct"),
        deep_entry<Isa::avx2, std::complex<float>, avx2_cf32>("avx2_cf32_fma_deep"),
        packed_entry<Isa::avx2, std::complex<float>, avx2_cf32, "avx2_cf32_fma_3x8">(),
        direct_entry<Isa::avx2, std::complex<double>, avx2_cf64>("avx2_cf64_fma_direct"),
        deep_entry<Isa::avx2, std::complex<double>, avx2_cf64>("avx2_cf64_fma_deep"),
        packed_entry<Isa::avx2, std::complex<double>, avx2_cf64, "avx2_cf64_fma_3x4">(),
        direct_entry<Isa::avx2, std::int32_t, avx2_i32>("avx2_i32_direct"),
        deep_entry<Isa::avx2, std::int32_t, avx2_i32>("avx2_i32_deep"),
        packed_entry<Isa::avx2, std::int32_t, avx2_i32, "avx2_i32_6x16">(),
        direct_entry<Isa::avx2, std::int64_t, avx2_i64>("avx2_i64_direct"),
        deep_entry<Isa::avx2, std::int64_t, avx2_i64>("avx2_i64_deep"),
        packed_entry<Isa::avx2, std::int64_t, avx2_i64, "avx2_i64_6x8">(),
        near_entry<Isa::avx2, Widened<BFloat16>, avx2_bf16>("avx2_bf16_widened_near"),
        deep_entry<Isa::avx2, Widened<BFloat16>, avx2_bf16>("avx2_bf16_widened_deep"),
        packed_entry<Isa::avx2, Widened<BFloat16>, avx2_bf16, "avx2_bf16_widened_6x16">(),
        near_entry<Isa::avx2, Widened<Float16>, avx2_f16>("avx2_f16_widened_near"),
        deep_entry<Isa::avx2, Widened<Float16>, avx2_f16>("avx2_f16_widened_deep"),
        packed_entry<Isa::avx2, Widened<Float16>, avx2_f16, "avx2_f16_widened_6x16">(),
        near_entry<Isa::avx2, Widened<Float8E4M3>, avx2_f8e4m3>("avx2_f8e4m3_widened_near"),
        deep_entry<Isa::avx2, Widened<Float8E4M3>, avx2_f8e4m3>("avx2_f8e4m3_widened_deep"),
        packed_entry<Isa::avx2, Widened<Float8E4M3>, avx2_f8e4m3, "avx2_f8e4m3_widened_6x16">(),
        near_entry<Isa::avx2, Widened<Float8E5M2>, avx2_f8e5m2>("avx2_f8e5m2_widened_near"),
        deep_entry<Isa::avx2, Widened<Float8E5M2>, avx2_f8e5m2>("avx2_f8e5m2_widened_deep"),
        packed_entry<Isa::avx2, Widened<Float8E5M2>, avx2_f8e5m2, "avx2_f8e5m2_widened_6x16">(),
        near_entry<Isa::avx2, I8Pairs, avx2_bytes>("avx2_i8_pairs_near"),
        deep_entry<Isa::avx2, I8Pairs, avx2_bytes>("avx2_i8_pairs_deep"),
        packed_entry<Isa::avx2, I8Pairs, avx2_bytes, "avx2_i8_pairs_6x16">(),
        near_entry<Isa::avx2, I16Pairs, avx2_i16>("avx2_i16_pairs_near"),
        deep_entry<Isa::avx2, I16Pairs, avx2_i16>("avx2_i16_pairs_deep"),
        packed_entry<Isa::avx2, I16Pairs, avx2_i16, "avx2_i16_pairs_6x16">(),
        near_entry<Isa::avx2, I32Wide, avx2_i32_wide>("avx2_i32_i64_near"),
        deep_entry<Isa::avx2, I32Wide, avx2_i32_wide>("avx2_i32_i64_deep"),
        packed_entry<Isa::avx2, I32Wide, avx2_i32_wide, "avx2_i32_i64_6x8">(),
        certified_entry<Isa::avx512, avx512_certified>("avx512_certified"),
        certified_entry<Isa::avx2, avx2_certified>("avx2_certified"),
#elif defined(__aarch64__)
    vector_entry<Isa::neon, float>("neon_f32_vectors"), vector_entry<Isa::neon, double>("neon_f64_vectors"),
        vector_entry<Isa::neon, Float16>("neon_f16_vectors"), vector_entry<Isa::neon, BFloat16>("neon_bf16_vectors"),
        vector_entry<Isa::neon, Float8E4M3>("neon_f8e4m3_vectors"),
        vector_entry<Isa::neon, Float8E5M2>("neon_f8e5m2_vectors"), byte_vector_entry<Isa::neon>("neon_i8_vectors"),
        vector_entry<Isa::neon, std::int16_t>("neon_i16_vectors"),
        vector_entry<Isa::neon, std::int32_t>("neon_i32_vectors"),
        vector_entry<Isa::neon, std::int64_t>("neon_i64_vectors"),
        vector_entry<Isa::neon, WideInt32>("neon_i32_i64_vectors"),
        vector_entry<Isa::neon, std::complex<float>>("neon_cf32_vectors"),
        vector_entry<Isa::neon, std::complex<double>>("neon_cf64_vectors"),
        direct_entry<Isa::neon, float, neon_f32>("neon_f32_fma_direct"),
        stream_entry<Isa::neon, float, neon_f32>("neon_f32_fma_stream"),
        deep_entry<Isa::neon, float, neon_f32>("neon_f32_fma_deep"),
        packed_entry<Isa::neon, float, neon_f32, "neon_f32_fma_12x8">(),
        direct_entry<Isa::neon, double, neon_f64>("neon_f64_fma_direct"),
        stream_entry<Isa::neon, double, neon_f64>("neon_f64_fma_stream"),
        deep_entry<Isa::neon, double, neon_f64>("neon_f64_fma_deep"),
        packed_entry<Isa::neon, double, neon_f64, "neon_f64_fma_12x4">(),
        direct_entry<Isa::neon, std::complex<float>, neon_cf32>("neon_cf32_fma_direct"),
        deep_entry<Isa::neon, std::complex<float>, neon_cf32>("neon_cf32_fma_deep"),
        packed_entry<Isa::neon, std::complex<float>, neon_cf32, "neon_cf32_fma_6x4">(),
        direct_entry<Isa::neon, std::complex<double>, neon_cf64>("neon_cf64_fma_direct"),
        deep_entry<Isa::neon, std::complex<double>, neon_cf64>("neon_cf64_fma_deep"),
        packed_entry<Isa::neon, std::complex<double>, neon_cf64, "neon_cf64_fma_6x2">(),
        direct_entry<Isa::neon, std::int32_t, neon_i32>("neon_i32_direct"),
        deep_entry<Isa::neon, std::int32_t, neon_i32>("neon_i32_deep"),
        packed_entry<Isa::neon, std::int32_t, neon_i32, "neon_i32_12x8">(),
        direct_entry<Isa::neon, std::int64_t, neon_i64>("neon_i64_direct"),
        deep_entry<Isa::neon, std::int64_t, neon_i64>("neon_i64_deep"),
        packed_entry<Isa::neon, std::int64_t, neon_i64, "neon_i64_6x4">(),
        near_entry<Isa::neon, Widened<BFloat16>, neon_bf16>("neon_bf16_widened_near"),
        deep_entry<Isa::neon, Widened<BFloat16>, neon_bf16>("neon_bf16_widened_deep"),
        packed_entry<Isa::neon, Widened<BFloat16>, neon_bf16, "neon_bf16_widened_12x8">(),
        near_entry<Isa::neon, Widened<Float16>, neon_f16>("neon_f16_widened_near"),
        deep_entry<Isa::neon, Widened<Float16>, neon_f16>("neon_f16_widened_deep"),
        packed_entry<Isa::neon, Widened<Float16>, neon_f16, "neon_f16_widened_12x8">(),
        near_entry<Isa::neon, Widened<Float8E4M3>, neon_f8e4m3>("neon_f8e4m3_widened_near"),
        deep_entry<Isa::neon, Widened<Float8E4M3>, neon_f8e4m3>("neon_f8e4m3_widened_deep"),
        packed_entry<Isa::neon, Widened<Float8E4M3>, neon_f8e4m3, "neon_f8e4m3_widened_12x8">(),
        near_entry<Isa::neon, Widened<Float8E5M2>, neon_f8e5m2>("neon_f8e5m2_widened_near"),
        deep_entry<Isa::neon, Widened<Float8E5M2>, neon_f8e5m2>("neon_f8e5m2_widened_deep"),
        packed_entry<Isa::neon, Widened<Float8E5M2>, neon_f8e5m2, "neon_f8e5m2_widened_12x8">(),
        near_entry<Isa::neon, I8Pairs, neon_bytes>("neon_i8_pairs_near"),
        deep_entry<Isa::neon, I8Pairs, neon_bytes>("neon_i8_pairs_deep"),
        packed_entry<Isa::neon, I8Pairs, neon_bytes, "neon_i8_pairs_12x8">(),
        near_entry<Isa::neon, I16Pairs, neon_i16>("neon_i16_pairs_near"),
        deep_entry<Isa::neon, I16Pairs, neon_i16>("neon_i16_pairs_deep"),
        packed_entry<Isa::neon, I16Pairs, neon_i16, "neon_i16_pairs_12x8">(),
        near_entry<Isa::neon, I32Wide, neon_i32_wide>("neon_i32_i64_near"),
        deep_entry<Isa::neon, I32Wide, neon_i32_wide>("neon_i32_i64_deep"),
        packed_entry<Isa::neon, I32Wide, neon_i32_wide, "neon_i32_i64_12x4">(),
        certified_entry<Isa::neon, neon_certified>("neon_certified"),
#endif
        certified_entry<Isa::portable, portable_certified>("portable_certified"), portable_entry(), naive_entry(),
  };
  return list;
}

std::span<const plan::KernelEntry* const> kernels_of(GemmTypes types) {
  struct OfTypes {
    GemmTypes types;
    std::vector<const plan::KernelEntry*> kernels;
  };
  // Never destroyed: products run at exit, too.
  static const auto& all = *[] {
    auto* made = new std::vector<OfTypes>;
    for (const GemmTypes& each : all_gemm_types()) {
      OfTypes& row = made->emplace_back(OfTypes{each, {}});
      for (const plan::KernelEntry& entry : kernel_list())
        if (std::ranges::find(entry.types, each) != entry.types.end()) row.kernels.push_back(&entry);
    }
    return made;
  }();
  const auto row = std::ranges::find(all, types, &OfTypes::types);
  return row == all.end() ? std::span<const plan::KernelEntry* const>() : row->kernels;
}

}  // namespace exactile::cpu
