// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "verification/verification.hpp"

namespace exactile::verification {
namespace {

void append_layout(std::string& line, const char* option, const OperandLayout& layout, std::int64_t rows,
                   std::int64_t columns, std::int64_t batch) {
  const OperandLayout plain{columns, 1, batch > 1 ? rows * columns : 0, false};
  OperandLayout shown = layout;
  if (batch <= 1 && !layout.pointer_array) shown.batch_stride = 0;
  if (shown == plain) return;
  auto out = std::back_inserter(line);
  fmt::format_to(out, " {} {},{}", option, layout.row_stride, layout.column_stride);
  if (layout.pointer_array) {
    fmt::format_to(out, ",pointers");
  } else if (shown.batch_stride != 0 || batch > 1) {
    fmt::format_to(out, ",{}", layout.batch_stride);
  }
  if (layout.conjugate) fmt::format_to(out, ",conjugate");
}

std::string scalar_text(const Scalar& scalar) {
  if (scalar.is_integral()) return fmt::format("{}", scalar.as<std::int64_t>());
  const auto value = scalar.as<std::complex<double>>();
  return scalar.is_real() ? fmt::format("{}", value.real()) : fmt::format("{},{}", value.real(), value.imag());
}

bool is_one(const Scalar& scalar) { return scalar.is_integral() && scalar.as<std::int64_t>() == 1; }

}  // namespace

std::string reproducer(const Case& test) {
  const GemmDescription& d = test.description;
  std::string line = fmt::format("exactile verify --m {} --n {} --k {} --type '{}'", d.m, d.n, d.k, to_string(d.types));
  auto out = std::back_inserter(line);
  if (test.options.backend != Backend::automatic) fmt::format_to(out, " --backend {}", to_string(test.options.backend));
  if (!test.options.kernel.empty()) fmt::format_to(out, " --kernel {}", test.options.kernel);
  if (test.options.accuracy != Accuracy::standard)
    fmt::format_to(out, " --accuracy {}", to_string(test.options.accuracy));
  if (test.options.reproducible) fmt::format_to(out, " --reproducible");
  if (test.options.threads != 0) fmt::format_to(out, " --threads {}", test.options.threads);
  if (test.options.memory == Memory::device) fmt::format_to(out, " --memory device");
  if (test.options.device != 0) fmt::format_to(out, " --device {}", test.options.device);
  if (!test.options.parameters.empty()) fmt::format_to(out, " --parameters '{}'", test.options.parameters);
  fmt::format_to(out, " --fill {} --seed {}", to_string(test.fill), test.seed);
  if (!is_one(test.alpha)) fmt::format_to(out, " --alpha {}", scalar_text(test.alpha));
  if (!test.beta.is_zero()) fmt::format_to(out, " --beta {}", scalar_text(test.beta));
  if (d.batch_count != 1) fmt::format_to(out, " --batch {}", d.batch_count);
  append_layout(line, "--layout-a", d.a, d.m, d.k, d.batch_count);
  append_layout(line, "--layout-b", d.b, d.k, d.n, d.batch_count);
  append_layout(line, "--layout-c", d.c, d.m, d.n, d.batch_count);
  if (d.bias != Bias::none) fmt::format_to(out, " --bias {}", to_string(d.bias));
  if (d.row_scales) line += " --row-scales";
  if (d.column_scales) line += " --column-scales";
  if (d.activation != Activation::none) fmt::format_to(out, " --activation {}", to_string(d.activation));
  return line;
}

}  // namespace exactile::verification
