// SPDX-License-Identifier: Apache-2.0
/// \file Options that several commands share, and how their words become the library's types.
#pragma once

#include <cstdint>
#include <string>

#include "command_line.hpp"
#include "exactile/devices.hpp"
#include "exactile/plan.hpp"
#include "exactile/types.hpp"
#include "scalar_option.hpp"
#include "verification/verification.hpp"

namespace exactile::program {

/// An option that takes a decimal integer and refuses what does not fit (CLI11 would clip it, and read 010 as 8).
Option* add_integer(CommandLine& app, const std::string& name, std::int64_t& value, const std::string& help);
/// --seed, any 64-bit number.
Option* add_seed(CommandLine& app, std::uint64_t& value);

/// Backend, kernel, accuracy, threads, device; where the operands lie.
struct ChoiceOptions {
  std::string backend;
  std::string kernel;
  std::string accuracy = "standard";
  bool reproducible = false;
  std::string planning = "estimate";
  std::int64_t threads = 0;
  std::string parameters;
  std::string memory;  ///< "" is host memory, or what measured_options() makes of it
  std::int64_t device = 0;
};
void add_choice_options(CommandLine& app, ChoiceOptions& options);
/// For commands that have no operands, or make them: files are in host memory.
void add_memory_option(CommandLine& app, ChoiceOptions& options);
[[nodiscard]] GemmOptions gemm_options(const ChoiceOptions& options);
/// The same where kernels are compared: those of a device with memory of its own have their operands there, unless
/// --memory says otherwise.
[[nodiscard]] GemmOptions measured_options(const ChoiceOptions& options);
/// Fails where every kernel is to be tried on --device: backends count their devices each for itself.
void require_one_backends_device(const ChoiceOptions& options);

/// --row-scales and --column-scales of commands that make their own operands.
struct ScaleFlags {
  bool rows = false;
  bool columns = false;

  void apply(GemmDescription& description) const;
};
void add_scale_flags(CommandLine& app, ScaleFlags& flags);

/// m, n, k, batch and the transposes.
struct SizeOptions {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};
void add_size_options(CommandLine& app, SizeOptions& options, bool required);

/// Dense row-major operands; a transposed one is stored the other way round. Sizes are checked (bad usage).
[[nodiscard]] GemmDescription describe(const SizeOptions& sizes, GemmTypes types);

/// Fails (bad usage) where a size is 0: there would be nothing to time.
void require_work(const SizeOptions& sizes);

/// Throws Failure (bad usage) that lists the types there are.
[[nodiscard]] GemmTypes parse_types(const std::string& name);
[[nodiscard]] std::string type_names();

[[nodiscard]] verification::Fill parse_fill(const std::string& name);

/// Fail (bad usage) where there is none of this name, and list those there are.
void require_known_kernel(const std::string& kernel);
/// Whether the kernel is of the backend that --backend names, or it names none.
[[nodiscard]] bool is_of_backend(const KernelInfo& kernel, const std::string& name);
/// What --backend says; automatic where it is "".
Backend backend_named(const std::string& name);
/// Fails where the backend that is named cannot be used at all.
void require_usable(const GemmOptions& options);
/// Fails for the planner's reason why what --kernel and --backend name cannot do this product.
[[noreturn]] void fail_for_want_of_kernels(const GemmDescription& description, const ChoiceOptions& choice);

}  // namespace exactile::program
