// SPDX-License-Identifier: Apache-2.0
#include "verification/elements.hpp"

#include <limits>

namespace exactile::verification {
namespace {

template <class T>
double real_part(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}
template <class T>
double real_part(std::complex<T> value) {
  return static_cast<double>(value.real());
}

template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// The real type of a component.
ElementType component(ElementType type) {
  if (type == ElementType::cf64) return ElementType::f64;
  return type == ElementType::cf32 ? ElementType::f32 : type;
}

}  // namespace

const void* product_base(const OperandLayout& layout, ElementType type, const void* data, std::int64_t p) {
  if (layout.pointer_array) return static_cast<const void* const*>(data)[p];
  return static_cast<const char*>(data) + p * layout.batch_stride * size_in_bytes(type);
}

void gather(ElementType type, const void* base, std::int64_t first, std::int64_t stride, std::int64_t count,
            double* real, double* imaginary, bool conjugate) {
  with_element(type, [&]<class T>() {
    const T* source = static_cast<const T*>(base) + first;
    for (std::int64_t t = 0; t < count; ++t) {
      const T value = source[t * stride];
      real[t] = real_part(value);
      if constexpr (is_complex_v<T>) imaginary[t] = static_cast<double>(conjugate ? -value.imag() : value.imag());
    }
  });
}

void gather(ElementType type, const void* base, std::int64_t first, std::int64_t stride, std::int64_t count,
            std::uint64_t* values) {
  with_element(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* source = static_cast<const T*>(base) + first;
      for (std::int64_t t = 0; t < count; ++t)
        values[t] = static_cast<std::uint64_t>(static_cast<std::int64_t>(source[t * stride]));
    }
  });
}

void store(ElementType type, void* base, std::int64_t index, double real, double imaginary) {
  with_element(type, [&]<class T>() {
    T* target = static_cast<T*>(base) + index;
    if constexpr (is_complex_v<T>) {
      using Component = typename T::value_type;
      *target = T(static_cast<Component>(real), static_cast<Component>(imaginary));
    } else if constexpr (std::is_arithmetic_v<T>) {
      *target = static_cast<T>(real);
    } else {
      *target = T(static_cast<float>(real));
    }
  });
}

void store(ElementType type, void* base, std::int64_t index, std::uint64_t value) {
  with_element(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) static_cast<T*>(base)[index] = static_cast<T>(value);
  });
}

double round_to(ElementType type, double value) {
  double rounded = 0;
  with_element(component(type), [&]<class T>() {
    if constexpr (!is_complex_v<T>) {
      T stored{};
      store(component(type), &stored, 0, value, 0);
      rounded = real_part(stored);
    }
  });
  return rounded;
}

std::complex<double> scalar_as_accumulator(const Scalar& scalar, ElementType input) {
  switch (accumulator_type(input)) {
    case ElementType::f32: return static_cast<double>(scalar.as<float>());
    case ElementType::cf32: {
      // Through memory: where GCC 12 makes a vector of the two parts, it leaves both roundings out (-O2).
      const auto z = scalar.as<std::complex<float>>();
      const volatile float real = z.real(), imaginary = z.imag();
      return {static_cast<double>(real), static_cast<double>(imaginary)};
    }
    case ElementType::cf64: return scalar.as<std::complex<double>>();
    default: return scalar.as<double>();
  }
}

double largest_finite(ElementType type) {
  switch (component(type)) {
    case ElementType::f64: return std::numeric_limits<double>::max();
    case ElementType::f16: return 65504.0;
    case ElementType::bf16: return 0x1.fep127;
    case ElementType::f8e4m3: return 448.0;
    case ElementType::f8e5m2: return 57344.0;
    default: return static_cast<double>(std::numeric_limits<float>::max());
  }
}

double smallest_positive(ElementType type) {
  switch (component(type)) {
    case ElementType::f64: return std::numeric_limits<double>::denorm_min();
    case ElementType::f16: return 0x1p-24;
    case ElementType::bf16: return 0x1p-133;
    case ElementType::f8e4m3: return 0x1p-9;
    case ElementType::f8e5m2: return 0x1p-16;
    default: return static_cast<double>(std::numeric_limits<float>::denorm_min());
  }
}

double least_weight(ElementType input, Accuracy accuracy) {
  if (accuracy > Accuracy::standard) return 0;
  switch (input) {
    case ElementType::f16: return 0x1p-14;
    case ElementType::bf16: return 0x1p-126;
    case ElementType::f8e4m3: return 0x1p-6;
    case ElementType::f8e5m2: return 0x1p-14;
    case ElementType::f32: return accuracy == Accuracy::reduced ? 0x1p-126 : 0;
    default: return 0;
  }
}

}  // namespace exactile::verification
