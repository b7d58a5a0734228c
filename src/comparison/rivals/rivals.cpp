// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "comparison/rivals/kinds.hpp"

namespace exactile::comparison {
namespace {

std::pair<std::string, std::string> split_at_equals(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw std::runtime_error("--rivals part '" + text + "': expected NAME=VALUE");
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

using Make = std::unique_ptr<Contender> (*)(const std::string& path, const Context* context);

/// A kind of library: where it computes and where its operands lie, and the names of its file from the newest on.
struct Kind {
  std::string_view name;
  Backend backend;
  Memory memory;
  Make make;
  std::vector<const char*> files;  ///< empty: only where it is named
};

const std::vector<Kind>& kinds() {
  static const std::vector<const char*> openblas = {"libopenblas.so.0", "libopenblas.so", "libscipy_openblas.so"};
  static const std::vector<const char*> mkl = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1",
                                               "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.2"};
  static const std::vector<const char*> cublas = {"libcublas.so.13", "libcublas.so.12",
                                                  "/usr/local/cuda/lib64/libcublas.so"};
  static const std::vector<Kind> all = {
      {"openblas", Backend::cpu, Memory::host,
       [](const std::string& p, const Context*) { return make_openblas(p, CblasRoutines::gemm); }, openblas},
      {"openblas_vector", Backend::cpu, Memory::host,
       [](const std::string& p, const Context*) { return make_openblas(p, CblasRoutines::vector); }, openblas},
      {"blis",
       Backend::cpu,
       Memory::host,
       [](const std::string& p, const Context*) { return make_blis(p); },
       {"libblis.so.4", "libblis.so.3", "libblis.so"}},
      {"mkl", Backend::cpu, Memory::host,
       [](const std::string& p, const Context*) { return make_mkl(p, CblasRoutines::gemm); }, mkl},
      {"mkl_vector", Backend::cpu, Memory::host,
       [](const std::string& p, const Context*) { return make_mkl(p, CblasRoutines::vector); }, mkl},
      {"onednn",
       Backend::cpu,
       Memory::host,
       [](const std::string& p, const Context*) { return make_onednn(p); },
       {"libdnnl.so.3", "libdnnl.so.2"}},
      {"onednn_matmul",
       Backend::cpu,
       Memory::host,
       [](const std::string& p, const Context*) { return make_onednn_matmul(p); },
       {"libdnnl.so.3"}},
      {"libxsmm",
       Backend::cpu,
       Memory::host,
       [](const std::string& p, const Context*) { return make_libxsmm(p); },
       {"libxsmm.so.1"}},
      {"cublas", Backend::cuda, Memory::device,
       [](const std::string& p, const Context* c) { return make_cublas(p, *c); }, cublas},
      {"cublasxt", Backend::cuda, Memory::host, [](const std::string& p, const Context*) { return make_cublasxt(p); },
       cublas},
      {"cublaslt",
       Backend::cuda,
       Memory::device,
       [](const std::string& p, const Context* c) { return make_cublaslt(p, *c, false); },
       {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"}},
      {"cublaslt_fast",
       Backend::cuda,
       Memory::device,
       [](const std::string& p, const Context* c) { return make_cublaslt(p, *c, true); },
       {}},
      {"clblast",
       Backend::opencl,
       Memory::device,
       [](const std::string& p, const Context* c) { return make_clblast(p, *c); },
       {"libclblast.so.1"}}};
  return all;
}

bool is_for(const Kind& kind, Backend backend, const Context* context) {
  return kind.backend == backend && kind.memory == (context == nullptr ? Memory::host : Memory::device);
}

std::unique_ptr<Contender> load_kind(const std::string& name, const std::string& path, Backend backend,
                                     const Context* context) {
  const std::string wanted = name.substr(0, name.find('-'));
  std::string known;
  for (const Kind& kind : kinds()) {
    if (!is_for(kind, backend, context)) continue;
    if (kind.name == wanted) return kind.make(path, context);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw std::runtime_error("--rivals " + name + "=...: expected one of " + known +
                           " where these operands lie, or one of them with '-' and more after it");
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

NamedContender load_rival(const std::string& specification, Backend backend, const Context* context) {
  std::istringstream parts(specification);
  std::string part;
  std::getline(parts, part, ',');
  const auto [name, path] = split_at_equals(part);
  std::vector<std::unique_ptr<ScopedVariable>> variables;
  while (std::getline(parts, part, ',')) {
    auto [variable, value] = split_at_equals(part);
    variables.push_back(std::make_unique<ScopedVariable>(std::move(variable), value));
  }
  return {name, load_kind(name, path, backend, context)};
}

FoundRivals find_rivals(Backend backend, const Context* context) {
  FoundRivals found;
  for (const Kind& kind : kinds()) {
    if (!is_for(kind, backend, context) || kind.files.empty()) continue;
    std::unique_ptr<Contender> contender;
    for (const char* const file : kind.files) try {
        if (contender == nullptr) contender = kind.make(file, context);
      } catch (const std::runtime_error& error) {
        const std::string_view words = error.what();
        if (words.find("No such file") == std::string_view::npos)
          found.broken.push_back(std::string(kind.name) + ": " + std::string(words));
      }
    if (contender != nullptr)
      found.rivals.push_back({std::string(kind.name), std::move(contender)});
    else
      found.absent.emplace_back(kind.name);
  }
  return found;
}

}  // namespace exactile::comparison
