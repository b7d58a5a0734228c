// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the exact sum of one element to the value due there and to how far a computed one may be from it.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>

#include "exactile/plan.hpp"
#include "verification/double_double.hpp"

namespace exactile::verification {

/// One component (real or imaginary part) of sum_k a_ik * b_kj.
struct InnerProduct {
  DoubleDouble sum;
  double magnitude = 0;  ///< the sum of the absolute values of all real products in it
};

/// One element's ingredients. The imaginary parts of a real problem are zero.
struct ElementInput {
  InnerProduct real;
  InnerProduct imaginary;
  std::complex<double> c_before = 0;
  std::complex<double> bias = 0;
  double row_scale = 1;  ///< of the sums
  double column_scale = 1;
};

/// What is due at one component of an element.
struct Due {
  DoubleDouble value;
  double tolerance = 0;       ///< on |computed - value|
  double magnitude = 0;       ///< the sum of the absolute values of all that was added up
  double reach = 0;           ///< the part of it that comes before the last rounding
  bool may_overflow = false;  ///< an intermediate result may leave the range, in an order of the kernel's choosing
};

struct DueElement {
  Due real;
  Due imaginary;
};

/// The bound of alpha*A*B + beta*C + bias with activation, for sums of k products.
///
/// With u of the accumulator, each real component of z = alpha * sum(a_k b_k) + beta * c + bias is a sum of products
/// that a kernel may form in any order, split along k, fused or not. Every term then passes at most
///   real:    1 (a_k b_k) + 1 (alpha) + (k - 1) + 2 additions          = k + 3 roundings, and 1 for each scale,
///   complex: twice as many terms, and alpha costs one more addition   = 2k + 4 roundings
/// so that |z^ - z| <= gamma_depth * (|alpha| sum|a_k||b_k| + |beta||c| + |bias|) (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd ed., lemmas 3.1 and 3.3, and (3.5) for "any order"). A rounding that underflows adds half
/// the smallest number instead (section 2.8); only products can, and alpha stretches those inside the sum. Where row i
/// and column j are scaled, sum|a_k||b_k| is that times |r_i||s_j|, and r_i, s_j stretch what underflowed as alpha
/// does. For the narrow floats |a_k| and |b_k| are weights, see weight() in elements.hpp. Complex components are
/// bounded one by one, from the real products they consist of (section 3.6 without moduli). An accuracy that allows
/// more than gamma adds error_beyond_gamma() * |alpha| sum|a_k||b_k|. `compensated` has gamma_depth^2 for gamma_depth,
/// `correctly_rounded` nothing, and both round once more, to C's type.
class ErrorBound {
 public:
  /// `exact`: the operands are such that no rounding happens before the last one, wherever that can be seen to be true.
  ErrorBound(const GemmDescription& description, const GemmArguments& arguments, Accuracy accuracy, bool exact);

  [[nodiscard]] DueElement due(const ElementInput& input) const;

  /// gamma_depth, and the same for the roundings of the last step and of underflow: for sums of whole rows.
  [[nodiscard]] double relative() const { return relative_ + beyond_gamma_; }
  [[nodiscard]] double underflow() const { return underflow_; }  ///< to be stretched by the scales
  [[nodiscard]] double output_roundoff() const { return rounds_output_ ? output_roundoff_ : 0; }
  [[nodiscard]] double output_underflow() const { return rounds_output_ ? output_underflow_ : 0; }
  /// Of the type that sums, or of C's where that is narrower.
  [[nodiscard]] double coarsest_roundoff() const { return std::max(accumulator_roundoff_, output_roundoff_); }
  [[nodiscard]] double accumulator_limit() const { return accumulator_limit_; }
  [[nodiscard]] double output_limit() const { return output_limit_; }
  [[nodiscard]] std::complex<double> alpha() const { return alpha_; }
  [[nodiscard]] std::complex<double> beta() const { return beta_; }

 private:
  /// A sum times the scales of its row and column.
  struct Scaled {
    DoubleDouble sum = {};
    double magnitude = 0;
    double largest = 0;      ///< the magnitude of all on the way, whichever scale comes first
    double stretch = 1;      ///< of what underflowed before the last scale
    bool is_unsure = false;  ///< infinite or NaN, as the rounding may have it
  };
  [[nodiscard]] Scaled scaled(const InnerProduct& product, const ElementInput& input) const;
  [[nodiscard]] Due component(DoubleDouble z, double magnitude, const Scaled& of) const;
  void activate(Due& due) const;

  std::complex<double> alpha_;
  std::complex<double> beta_;
  bool has_alpha_;  ///< alpha != 0: the sum takes part
  bool has_beta_;
  bool exact_;
  bool rounds_output_;  ///< the output type is narrower than the accumulator
  ElementType output_;
  Activation activation_;
  double accumulator_roundoff_;
  double relative_;
  double beyond_gamma_;  ///< of the sum of products alone
  bool rounds_factors_;  ///< so that some may become 0
  double underflow_;
  double output_roundoff_;
  double output_underflow_;
  double accumulator_limit_;  ///< largest finite number of the accumulator
  double output_limit_;       ///< from here on a value rounds to infinity in the output type
};

}  // namespace exactile::verification
