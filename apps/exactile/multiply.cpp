// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "array_product.hpp"
#include "commands.hpp"
#include "measurement.hpp"
#include "multiply_report.hpp"
#include "npy_input.hpp"
#include "npy_output.hpp"
#include "options.hpp"
#include "start_value.hpp"
#include "units.hpp"
#include "verification/verification.hpp"

namespace exactile::program {
namespace {

constexpr const char* footer =
    R"(Reads .npy versions 1 to 3, C or Fortran order, either byte order, of f2 f4 f8 i1 u1 i2 i4 i8 c8 c16.
Products of i1, u1 (and of one with the other) and i2 are i4, those of i4 are i8 with --out-type i64; bool is read
as i1, u2 as i4, u4 as i8, and u1 and i2 beside i4 as i4. Integers are exact modulo 2^32 and 2^64.
Arrays of more than two dimensions are batches and broadcast as numpy.matmul does; nothing is copied. The output
gets its name when it is done (and verified, with --verify); on any failure nothing is left, not even of a
killed program (where the file system has files without names), unless only the report could not be printed. It
is not forced to the disk: call sync(1) if it must survive a power cut.

Exit status: 1 the result failed --verify, 2 bad argument or output place, 3 bad input file or shapes that do
not fit, 4 no memory or no space on the disk.)";

struct Options {
  std::string a;
  std::string b;
  std::string output;
  std::string c;
  std::string row_scales;
  std::string column_scales;
  ScalarOption alpha = {"--alpha", "1"};
  ScalarOption beta = {"--beta", "0"};  ///< 1 where there is a C0 and nothing else is said
  std::string out_type;
  bool transpose_a = false;
  bool transpose_b = false;
  bool verify = false;
  bool json = false;
  ChoiceOptions choice;
};

class Stopwatch {
 public:
  /// Seconds since the last call, or since the object was made.
  double lap() {
    const auto before = std::exchange(last_, std::chrono::steady_clock::now());
    return std::chrono::duration<double>(last_ - before).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Makes the two types ones that have a product, where they are integers that i32 holds.
void agree(NpyInput& a, NpyInput& b) {
  const auto is_byte = [](ElementType type) { return type == ElementType::i8 || type == ElementType::u8; };
  if (a.type() == b.type() || (is_byte(a.type()) && is_byte(b.type()))) return;
  a.widen();
  b.widen();
  if (a.type() != b.type())
    fail(Exit::bad_input, "{} holds {} and {} holds {}; expected one type, so convert one of them", a.path(),
         to_string(a.type()), b.path(), to_string(b.type()));
}

GemmTypes product_types(NpyInput& a, NpyInput& b, const std::string& out_type) {
  agree(a, b);
  std::string names;
  for (const GemmTypes types : all_gemm_types()) {
    if (types.input != a.type() || types.input_b != b.type() || npy_descr(types.output).empty()) continue;
    if (out_type.empty() || to_string(types.output) == out_type) return types;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(types.output));
  }
  fail(Exit::bad_usage, "--out-type {}: is no result of a product of {}; there are {}", out_type, to_string(a.type()),
       names);
}

std::optional<NpyInput> open_start_value(const Options& options, Scalar beta, GemmTypes types,
                                         const ProductShape& shape) {
  if (options.c.empty()) {
    if (!beta.is_zero())
      fail(Exit::bad_usage, "--beta {}: needs the matrix it multiplies; expected --c FILE", options.beta.text);
    return std::nullopt;
  }
  NpyInput c(options.c);
  if (types.output == ElementType::i32) c.widen();
  if (c.type() != types.output)
    fail(Exit::bad_input, "{} holds {}; expected {}, the type of the result", c.path(), to_string(c.type()),
         to_string(types.output));
  if (c.shape() != shape.result)
    fail(Exit::bad_input, "{} has the shape {}; expected {}, the shape of the result", c.path(), shape_text(c.shape()),
         shape_text(shape.result));
  return c;
}

/// `length` factors of the type that sums, for `what` each.
std::optional<NpyInput> open_scales(const std::string& path, GemmTypes types, std::int64_t length,
                                    std::string_view what) {
  if (path.empty()) return std::nullopt;
  NpyInput scales(path);
  const ElementType type = accumulator_type(types);
  if (scales.type() != type)
    fail(Exit::bad_input, "{} holds {}; expected {}, in which products of {} are summed", path,
         to_string(scales.type()), to_string(type), to_string(types.input));
  if (scales.shape() != std::vector{length})
    fail(Exit::bad_input, "{} has the shape {}; expected {}, a factor for each {}", path, shape_text(scales.shape()),
         shape_text({length}), what);
  return scales;
}

void verify_call(const GemmDescription& description, const GemmArguments& arguments, const void* c_before,
                 Accuracy accuracy, verification::ErrorReport& total) {
  const verification::ErrorReport compared = verification::compare(description, arguments, c_before, accuracy);
  const verification::ErrorReport residual = verification::residual(description, arguments, c_before, 1, accuracy);
  total.rows_checked += compared.rows_checked;
  for (const verification::ErrorReport* report : {&compared, &residual}) {
    total.max_relative_error = std::max(total.max_relative_error, report->max_relative_error);
    total.error_in_u = std::max(total.error_in_u, report->error_in_u);
    total.norm_error = std::max(total.norm_error, report->norm_error);
    total.error_over_bound = std::max(total.error_over_bound, report->error_over_bound);
    if (total.passed && !report->passed) total.failure = report->failure;
    total.passed = total.passed && report->passed;
  }
}

/// One run of the command, step by step; the output appears only at the end of it.
class Multiplication {
 public:
  explicit Multiplication(const Options& options)
      : options_(options),
        gemm_options_(gemm_options(options.choice)),
        a_(options.a),
        b_(options.b),
        types_(product_types(a_, b_, options.out_type)),
        product_(match_shapes({a_.path(), a_.shape(), a_.strides()}, {b_.path(), b_.shape(), b_.strides()},
                              options.transpose_a, options.transpose_b),
                 types_, a_.data(), b_.data()),
        alpha_(options.alpha.value(types_)),
        beta_(options.beta.value(types_)),
        start_(open_start_value(options, beta_, types_, product_.shape())),
        // Planned before the scales are judged, and before the output is made: the library says which products have
        // scales, and a kernel that is not there should cost nothing.
        summary_(require(Plan::make(scaled(product_.description()), gemm_options_)).summary()),
        row_scales_(open_scales(options.row_scales, types_, product_.description().m, "row of A")),
        column_scales_(open_scales(options.column_scales, types_, product_.description().n, "column of B")) {}

  Exit run() {
    report_.summary = summary_;
    std::vector<const NpyInput*> inputs = {&a_, &b_};
    for (const std::optional<NpyInput>* input : {&start_, &row_scales_, &column_scales_})
      if (*input) inputs.push_back(&**input);
    NpyOutput output(options_.output, inputs);
    Stopwatch watch;
    for (NpyInput* input : {&a_, &b_}) input->read_in();
    report_.read_seconds = watch.lap();
    output.allocate(types_.output, product_.shape().result);
    if (start_ && !beta_.is_zero()) copy_start_value(*start_, output.data());
    report_.write_seconds = watch.lap();
    announce_cost("this product", estimated_seconds());
    watch.lap();
    multiply(output.data());
    report_.product_seconds = watch.lap();
    if (options_.verify) verify(output.data());
    if (report_.error && !report_.error->passed)
      fail(Exit::check_failed, "the product failed its verification, {} was not written: {}", options_.output,
           report_.error->failure);
    watch.lap();
    output.commit();
    report_.write_seconds += watch.lap();
    print_report();
    return Exit::done;
  }

 private:
  [[nodiscard]] GemmDescription scaled(GemmDescription description) const {
    description.row_scales = !options_.row_scales.empty();
    description.column_scales = !options_.column_scales.empty();
    return description;
  }

  /// for_each_call() with all that the options say.
  void for_each_call(std::byte* c, const ArrayProduct::Run& run) {
    product_.for_each_call(c, [&](const GemmDescription& description, GemmArguments arguments, std::int64_t first) {
      arguments.alpha = alpha_;
      arguments.beta = beta_;
      if (row_scales_) arguments.row_scales = row_scales_->data();
      if (column_scales_) arguments.column_scales = column_scales_->data();
      run(scaled(description), arguments, first);
    });
  }

  /// By the planner's estimate for one call.
  [[nodiscard]] double estimated_seconds() const {
    const std::int64_t products = std::max<std::int64_t>(product_.description().batch_count, 1);
    return chosen_cost(summary_) * static_cast<double>(product_.shape().batch_count) / static_cast<double>(products);
  }

  void multiply(std::byte* c) {
    for_each_call(c, [&](const GemmDescription& description, const GemmArguments& arguments, std::int64_t) {
      require(gemm(description, arguments, gemm_options_));
    });
  }

  void verify(std::byte* c) {
    const StartValue before(start_ && !beta_.is_zero() ? &*start_ : nullptr);
    verification::ErrorReport& report = report_.error.emplace();
    for_each_call(c, [&](const GemmDescription& description, const GemmArguments& arguments, std::int64_t first) {
      verify_call(description, arguments, before.element(first), gemm_options_.accuracy, report);
    });
  }

  void print_report() {
    report_.a = {a_.path(), a_.shape(), a_.type(), a_.fortran_order(), options_.transpose_a};
    report_.b = {b_.path(), b_.shape(), b_.type(), b_.fortran_order(), options_.transpose_b};
    report_.c = {options_.output, product_.shape().result, types_.output};
    report_.description = product_.description();
    report_.description.batch_count = product_.shape().batch_count;
    report_.accuracy = gemm_options_.accuracy;
    report_.alpha = options_.alpha.text;
    report_.beta = options_.beta.text;
    report_.start = options_.c;
    report_.row_scales = options_.row_scales;
    report_.column_scales = options_.column_scales;
    options_.json ? print_multiply_json(report_) : print_multiply_text(report_);
  }

  const Options& options_;
  GemmOptions gemm_options_;
  NpyInput a_;
  NpyInput b_;
  GemmTypes types_;
  ArrayProduct product_;
  Scalar alpha_;
  Scalar beta_;
  std::optional<NpyInput> start_;
  PlanSummary summary_;
  std::optional<NpyInput> row_scales_;
  std::optional<NpyInput> column_scales_;
  MultiplyReport report_;
};

}  // namespace

Action add_multiply(CommandLine& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("A", options->a, "Left operand, an .npy file")->required()->type_name("FILE");
  command.add_option("B", options->b, "Right operand, an .npy file")->required()->type_name("FILE");
  command.add_option("-o,--output", options->output, "Where the product goes")->required()->type_name("FILE");
  command.add_option("--alpha", options->alpha.text, "Factor of A*B (default 1; complex as 1+2j)")->type_name("X");
  const Option* const beta =
      command.add_option("--beta", options->beta.text, "Factor of C0 (default 1)")->type_name("Y");
  command.add_option("--c", options->c, "C0: the result is alpha*A*B + beta*C0")->type_name("FILE");
  command.add_option("--row-scales", options->row_scales, "A factor for each row of A: a vector of f32 (f64 for f64)")
      ->type_name("FILE");
  command.add_option("--column-scales", options->column_scales, "A factor for each column of B")->type_name("FILE");
  command.add_flag("--transpose-a", options->transpose_a, "Swap the last two dimensions of A; nothing is moved");
  command.add_flag("--transpose-b", options->transpose_b, "Swap the last two dimensions of B; nothing is moved");
  command.add_option("--out-type", options->out_type, "Type of the result, e.g. f32 for a product of f16")
      ->type_name("T");
  add_choice_options(command, options->choice);
  command.add_flag("--verify", options->verify, "Check the product; a wrong one is not written");
  command.add_flag("--json", options->json, "Report as JSON (exactile.multiply/1)");
  command.footer(footer);
  return [options, beta] {
    if (beta->count() == 0 && !options->c.empty()) options->beta.text = "1";
    return Multiplication(*options).run();
  };
}

}  // namespace exactile::program
