// SPDX-License-Identifier: Apache-2.0
#include "multiply_report.hpp"

#include "json.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

double operations(const MultiplyReport& report) {
  const GemmDescription& d = report.description;
  return operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count);
}

double gflops(const MultiplyReport& report) {
  return report.product_seconds > 0 ? operations(report) / report.product_seconds * 1e-9 : 0;
}

std::string array_text(const ArrayReport& array) {
  return fmt::format("{} {} {}{}{}", printable(array.path), shape_text(array.shape), to_string(array.type),
                     array.fortran_order ? " (Fortran order)" : "", array.transposed ? " (transposed)" : "");
}

/// "c.npy (3, 4) f32 = 2 * a.npy (3, 5) f32 * b.npy (5, 4) f32 + -1 * c0.npy": what was computed.
std::string formula(const MultiplyReport& report) {
  const std::string alpha = report.alpha == "1" ? "" : report.alpha + " * ";
  const std::string start = report.start.empty() ? "" : fmt::format(" + {} * {}", report.beta, printable(report.start));
  return fmt::format("{} = {}{} * {}{}", array_text(report.c), alpha, array_text(report.a), array_text(report.b),
                     start);
}

Json array_json(const ArrayReport& array) {
  return {{"path", array.path},
          {"shape", array.shape},
          {"type", to_string(array.type)},
          {"fortran_order", array.fortran_order}};
}

}  // namespace

void print_multiply_text(const MultiplyReport& report) {
  const auto scales = [](const std::string& path, const char* of) {
    return path.empty() ? std::string() : fmt::format(", {} scaled by {}", of, printable(path));
  };
  print_result("{}{}{}\n", formula(report), scales(report.row_scales, "rows of A"),
               scales(report.column_scales, "columns of B"));
  // An empty product needs no kernel.
  print_result("{} on {} thread{}: product {} ({} GFLOP/s), read {}, write {}\n",
               report.summary.kernel.empty() ? "no kernel" : report.summary.kernel, report.summary.threads,
               report.summary.threads == 1 ? "" : "s", seconds_text(report.product_seconds),
               number_text(gflops(report)), seconds_text(report.read_seconds), seconds_text(report.write_seconds));
  if (report.error)
    print_result(
        "verified on {} of {} rows and with random vectors: no error above {} u of |A||B|, {} of C in norm, {} "
        "of the bound\n",
        report.error->rows_checked, report.description.m * report.description.batch_count,
        number_text(report.error->error_in_u), error_text(report.error->norm_error),
        number_text(report.error->error_over_bound));
}

void print_multiply_json(const MultiplyReport& report) {
  const GemmDescription& d = report.description;
  Json json = document("multiply");
  json["a"] = array_json(report.a);
  json["b"] = array_json(report.b);
  json["c"] = array_json(report.c);
  json["type"] = to_string(d.types);
  json["m"] = d.m;
  json["n"] = d.n;
  json["k"] = d.k;
  json["batch"] = d.batch_count;
  json["transpose_a"] = report.a.transposed;
  json["transpose_b"] = report.b.transposed;
  json["alpha"] = report.alpha;
  json["beta"] = report.beta;
  if (!report.start.empty()) json["c0"] = report.start;
  if (!report.row_scales.empty()) json["row_scales"] = report.row_scales;
  if (!report.column_scales.empty()) json["column_scales"] = report.column_scales;
  json["kernel"] = report.summary.kernel;
  json["backend"] = to_string(report.summary.backend);
  json["accuracy"] = to_string(report.accuracy);
  json["threads"] = report.summary.threads;
  json["seconds"] = {
      {"read", report.read_seconds}, {"product", report.product_seconds}, {"write", report.write_seconds}};
  json["gflops"] = gflops(report);
  json["verified"] = report.error.has_value();
  if (report.error) {
    json["rows_checked"] = report.error->rows_checked;
    json["max_relative_error"] = report.error->max_relative_error;
    json["error_in_u"] = report.error->error_in_u;
    json["norm_error"] = report.error->norm_error;
    json["error_over_bound"] = report.error->error_over_bound;
  }
  print_json(json);
}

}  // namespace exactile::program
