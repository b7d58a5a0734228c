// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace exactile::plan {

/// A product of floats that is over in nanoseconds, with real factors: one, by one thread, from addresses to addresses
/// in host memory, with nothing to do after the last term. run() is then the same as Executable::run(), with what
/// differs from call to call in registers.
///
/// It lies in the plan by value, with what the first addresses are computed from. Each pointer followed on the way to
/// them is waited for, because what comes before keeps the ports for reads busy: 3 % of 16 x 16 x 16 in f32.
struct QuickCall {
  using Run = void(const QuickCall& call, const void* a, const void* b, void* c, double alpha, double beta);

  Run* run = nullptr;  ///< null: this product is none
  alignas(std::max_align_t) std::byte data[64] = {};

  template <class Data>
  QuickCall(Run* how, const Data& what) : run(how) {
    static_assert(std::is_trivially_copyable_v<Data> && sizeof(Data) <= sizeof(data));
    std::memcpy(data, &what, sizeof(Data));
  }
  QuickCall() = default;
  template <class Data>
  [[nodiscard]] const Data& as() const {
    return *std::launder(reinterpret_cast<const Data*>(data));
  }
};

/// An Executable that may be one.
class QuickProduct {
 public:
  [[nodiscard]] virtual QuickCall quick_call() const = 0;

 protected:
  QuickProduct() = default;
  QuickProduct(const QuickProduct&) = default;
  QuickProduct& operator=(const QuickProduct&) = default;
  ~QuickProduct() = default;
};

}  // namespace exactile::plan
