// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the comparison asks of a library, exactile or a rival: a version, and a settled call for one product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "exactile/context.hpp"
#include "exactile/types.hpp"
#include "verification/verification.hpp"

namespace exactile::comparison {

/// One matrix as it lies in memory: `rows` rows, `leading` elements apart, neighbours in a row `step` elements apart.
struct Layout {
  std::int64_t rows = 0;
  std::int64_t leading = 0;
  std::int64_t step = 1;
  bool transposed = false;  ///< the product takes the transpose of what is stored

  [[nodiscard]] std::int64_t elements() const { return rows * leading; }
};

/// C = op(A) * op(B), with op(A) m x k and op(B) k x n, `batch` times over matrices that lie one after another.
struct Product {
  ElementType type = ElementType::f32;    ///< of A
  ElementType output = ElementType::f32;  ///< of C
  Accuracy accuracy = Accuracy::standard;
  bool reproducible = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Layout a;
  Layout b;
  Layout c;
  ElementType type_b = type;
  verification::Fill fill = verification::Fill::normal;  ///< what A and B hold

  [[nodiscard]] GemmTypes types() const { return {type, output, type_b}; }
  [[nodiscard]] double operations() const { return operation_count(types(), m, n, k) * static_cast<double>(batch); }
  [[nodiscard]] std::int64_t bytes() const {
    return batch * (a.elements() * size_in_bytes(type) + b.elements() * size_in_bytes(type_b) +
                    c.elements() * size_in_bytes(output));
  }
};

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

/// Bytes from the operands of one call to those of the next.
struct Strides {
  std::ptrdiff_t a = 0;
  std::ptrdiff_t b = 0;
  std::ptrdiff_t c = 0;
};

[[nodiscard]] inline Operands advance(Operands from, Strides strides, std::int64_t calls) {
  return {static_cast<const std::byte*>(from.a) + strides.a * calls,
          static_cast<const std::byte*>(from.b) + strides.b * calls,
          static_cast<std::byte*>(from.c) + strides.c * calls};
}

/// A product whose kernel is chosen, as far as the library lets one choose ahead.
class Call {
 public:
  virtual ~Call() = default;
  /// Told before the first run of all sets of operands that there will be: `sets` of them, `strides` apart.
  virtual void meet(Operands /*first*/, Strides /*strides*/, std::int64_t /*sets*/) {}
  /// `count` calls. The loop is in here so that a short call pays for no indirection that is not the library's own.
  virtual void run(Operands first, Strides strides, std::int64_t count) const = 0;
  /// The kernel that the library chose, where it says so.
  [[nodiscard]] virtual std::string kernel() const { return {}; }
};

template <class Body>
class CallOf final : public Call {
 public:
  explicit CallOf(Body body) : body_(std::move(body)) {}
  void run(Operands at, Strides strides, std::int64_t count) const override {
    for (std::int64_t i = 0; i < count; ++i, at = advance(at, strides, 1)) body_(at.a, at.b, at.c);
  }

 private:
  Body body_;
};

template <class Body>
[[nodiscard]] std::unique_ptr<Call> make_call(Body body) {
  return std::make_unique<CallOf<Body>>(std::move(body));
}

class Contender {
 public:
  virtual ~Contender() = default;
  /// As the library itself reports it.
  [[nodiscard]] virtual std::string version() const = 0;
  virtual void set_threads(int threads) = 0;
  /// The whole of `product`; null where the library has no call for it.
  [[nodiscard]] virtual std::unique_ptr<Call> prepare(const Product& product) const = 0;
};

/// A rival has one call for one product; a batch is a loop over it.
class Rival : public Contender {
 public:
  [[nodiscard]] std::unique_ptr<Call> prepare(const Product& product) const final;

 protected:
  /// `product` is one product with rows of neighbours (step 1).
  [[nodiscard]] virtual std::unique_ptr<Call> prepare_one(const Product& product) const = 0;
};

}  // namespace exactile::comparison
