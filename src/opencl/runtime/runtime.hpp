// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stays alive for a device between products: its context, and programs, kernels, queues and scratch buffers that
/// are lent to one product at a time.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "opencl/runtime/device.hpp"

namespace exactile::opencl {

/// A thing on loan; it goes back when the loan ends.
template <class Owner, class Thing>
class Loan {
 public:
  Loan() = default;
  Loan(Owner* owner, Thing thing) : owner_(owner), thing_(thing) {}
  Loan(Loan&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), thing_(other.thing_) {}
  Loan& operator=(Loan&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(thing_, other.thing_);
    return *this;
  }
  ~Loan() {
    if (owner_ != nullptr) owner_->take_back(thing_);
  }
  [[nodiscard]] const Thing& get() const { return thing_; }

 private:
  Owner* owner_ = nullptr;
  Thing thing_{};
};

/// One function of a built program. A cl_kernel holds its arguments, so every caller needs one of its own.
class Program {
 public:
  Program(cl_program program, std::string function) : program_(program), function_(std::move(function)) {}
  [[nodiscard]] Result<Loan<Program, cl_kernel>> kernel();
  void take_back(cl_kernel kernel);

 private:
  cl_program program_;
  std::string function_;
  std::mutex mutex_;
  std::vector<cl_kernel> idle_;
};

/// `user` is the queue whose work may still use the memory; only that one may have it again. Null: nobody's.
struct Scratch {
  cl_mem memory = nullptr;
  std::int64_t bytes = 0;
  cl_command_queue user = nullptr;
};

class Runtime {
 public:
  /// The runtime of device number `index` in a context of its own, made at the first call and kept for good: drivers
  /// have threads of their own and do not like to be torn down at exit.
  [[nodiscard]] static Result<Runtime*> of(int index);
  /// Whether of(index) has been called with success.
  [[nodiscard]] static bool is_ready(int index);
  /// The runtime of a caller's queue: its device in its context.
  [[nodiscard]] static Result<Runtime*> of(cl_command_queue queue);

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] cl_context context() const { return context_; }

  /// The function `function` of element.cl + `source` compiled with `options`: from memory, from disk, or compiled.
  [[nodiscard]] Result<Program*> program(std::string_view source, const std::string& function,
                                         const std::string& options);
  /// An in-order queue of this product's own.
  [[nodiscard]] Result<Loan<Runtime, cl_command_queue>> queue();
  /// Where work goes that names no queue.
  [[nodiscard]] Result<cl_command_queue> default_queue();
  /// At least `bytes` of device memory for work on `queue`.
  [[nodiscard]] Result<Loan<Runtime, Scratch>> scratch(std::int64_t bytes, cl_command_queue queue);
  /// All work on `queue` is done.
  void finished(cl_command_queue queue);
  [[nodiscard]] Result<cl_mem> make_buffer(std::int64_t bytes, cl_mem_flags flags, void* host, std::string_view what);

  void take_back(cl_command_queue queue);
  void take_back(const Scratch& scratch);

 private:
  Runtime(const Device& device, cl_context context, bool is_own)
      : device_(device), context_(context), is_own_(is_own) {}
  [[nodiscard]] Result<cl_command_queue> make_queue();
  [[nodiscard]] Result<cl_program> build(std::string_view source, const std::string& options);

  struct Built {
    const char* source;  ///< an embedded file, told by its address
    std::string options;
    std::unique_ptr<Program> program;
  };
  Device device_;
  cl_context context_;
  bool is_own_;  ///< the context is not a caller's
  std::mutex mutex_;
  std::vector<Built> programs_;
  std::vector<cl_command_queue> queues_;
  cl_command_queue default_queue_ = nullptr;
  std::vector<Scratch> scratch_;
};

}  // namespace exactile::opencl
