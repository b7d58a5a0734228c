// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rivals/contender.hpp"
#include "rivals/kinds.hpp"

namespace exactile::bench {
namespace {

std::pair<std::string, std::string> split_at_equals(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw std::runtime_error("--rival part '" + text + "': expected NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Sets an environment variable for as long as it lives: two copies of one library may be asked for different kernels.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) {
      had_value_ = true;
      old_value_ = old;
    }
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() {
    if (had_value_) {
      setenv(name_.c_str(), old_value_.c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

 private:
  std::string name_;
  std::string old_value_;
  bool had_value_ = false;
};

std::unique_ptr<Contender> load_kind(const std::string& name, const std::string& path, const Context* context) {
  const std::string kind = name.substr(0, name.find('-'));
  if (context != nullptr) {
    if (kind == "cublas") return make_cublas(path, *context);
    if (kind == "cublaslt" || kind == "cublaslt_fast") return make_cublaslt(path, *context, kind != "cublaslt");
    throw std::runtime_error("--rival name '" + name +
                             "': expected cublas, cublaslt or cublaslt_fast in device memory");
  }
  if (kind == "openblas") return make_openblas(path, CblasRoutines::gemm);
  if (kind == "openblas_vector") return make_openblas(path, CblasRoutines::vector);
  if (kind == "blis") return make_blis(path);
  if (kind == "mkl") return make_mkl(path, CblasRoutines::gemm);
  if (kind == "mkl_vector") return make_mkl(path, CblasRoutines::vector);
  if (kind == "onednn") return make_onednn(path);
  if (kind == "onednn_matmul") return make_onednn_matmul(path);
  if (kind == "libxsmm") return make_libxsmm(path);
  throw std::runtime_error("--rival name '" + name +
                           "': expected openblas, openblas_vector, blis, mkl, mkl_vector, onednn, onednn_matmul or "
                           "libxsmm, or one of them with '-' and more after it (cublas and cublaslt: --device-memory)");
}

}  // namespace

std::unique_ptr<Call> Rival::prepare(const Product& product) const {
  if (product.a.step != 1 || product.b.step != 1 || product.c.step != 1) return nullptr;
  Product one = product;
  one.batch = 1;
  std::unique_ptr<Call> call = prepare_one(one);
  if (call == nullptr || product.batch == 1) return call;
  const std::int64_t element = size_in_bytes(product.type);
  const Strides strides{product.a.elements() * element, product.b.elements() * element, product.c.elements() * element};
  return make_call([call = std::shared_ptr<const Call>(std::move(call)), strides, batch = product.batch](
                       const void* a, const void* b, void* c) {
    call->run({a, b, c}, strides, batch);
  });
}

NamedRival load_rival(const std::string& specification, const Context* context) {
  std::istringstream parts(specification);
  std::string part;
  std::getline(parts, part, ',');
  const auto [name, path] = split_at_equals(part);
  std::vector<std::unique_ptr<ScopedVariable>> variables;
  while (std::getline(parts, part, ',')) {
    auto [variable, value] = split_at_equals(part);
    variables.push_back(std::make_unique<ScopedVariable>(std::move(variable), value));
  }
  return {name, load_kind(name, path, context)};
}

}  // namespace exactile::bench
