// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_across.hpp"

namespace exactile::cpu {

// Specialisations, not instances: the linker may take those from any file, and this one has its own instructions.
template <>
const VectorKernels<float>& avx2_vectors<float>() {
  return HWY_NAMESPACE::vector_kernels<float>();
}
template <>
const VectorKernels<double>& avx2_vectors<double>() {
  return HWY_NAMESPACE::vector_kernels<double>();
}
template <>
const VectorKernels<Float16>& avx2_vectors<Float16>() {
  return HWY_NAMESPACE::vector_kernels<Float16>();
}
template <>
const VectorKernels<BFloat16>& avx2_vectors<BFloat16>() {
  return HWY_NAMESPACE::vector_kernels<BFloat16>();
}
template <>
const VectorKernels<Float8E4M3>& avx2_vectors<Float8E4M3>() {
  return HWY_NAMESPACE::vector_kernels<Float8E4M3>();
}
template <>
const VectorKernels<Float8E5M2>& avx2_vectors<Float8E5M2>() {
  return HWY_NAMESPACE::vector_kernels<Float8E5M2>();
}
template <>
const VectorKernels<std::int8_t>& avx2_vectors<std::int8_t>() {
  return HWY_NAMESPACE::vector_kernels<std::int8_t>();
}
template <>
const VectorKernels<std::uint8_t>& avx2_vectors<std::uint8_t>() {
  return HWY_NAMESPACE::vector_kernels<std::uint8_t>();
}
template <>
const VectorKernels<std::int16_t>& avx2_vectors<std::int16_t>() {
  return HWY_NAMESPACE::vector_kernels<std::int16_t>();
}
template <>
const VectorKernels<std::int32_t>& avx2_vectors<std::int32_t>() {
  return HWY_NAMESPACE::vector_kernels<std::int32_t>();
}
template <>
const VectorKernels<std::int64_t>& avx2_vectors<std::int64_t>() {
  return HWY_NAMESPACE::vector_kernels<std::int64_t>();
}
template <>
const VectorKernels<WideInt32>& avx2_vectors<WideInt32>() {
  return HWY_NAMESPACE::vector_kernels<WideInt32>();
}
template <>
const VectorKernels<std::complex<float>>& avx2_vectors<std::complex<float>>() {
  return HWY_NAMESPACE::vector_kernels<std::complex<float>>();
}
template <>
const VectorKernels<std::complex<double>>& avx2_vectors<std::complex<double>>() {
  return HWY_NAMESPACE::vector_kernels<std::complex<double>>();
}

}  // namespace exactile::cpu
