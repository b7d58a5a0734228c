// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "comparison/operands.hpp"
#include "comparison/rivals/cublas.hpp"
#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {
namespace {

using Handle = void*;
using Descriptor = void*;

struct Algorithm {
  std::uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t
struct Proposal {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

constexpr int attribute_transpose_first = 3;
constexpr int attribute_transpose_second = 4;
constexpr int attribute_fast_sums = 25;
constexpr int attribute_batch_count = 5;
constexpr int attribute_batch_distance = 6;
constexpr int preference_workspace_bytes = 1;
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what the library's manual says for Hopper
constexpr int most_proposals = 8;

/// The library's functions by name.
struct Functions {
  explicit Functions(const SharedObject& library)
      : create(library.require<int(Handle*)>("cublasLtCreate")),
        version(library.require<std::size_t()>("cublasLtGetVersion")),
        create_product(library.require<int(Descriptor*, int, int)>("cublasLtMatmulDescCreate")),
        set_product(library.require<int(Descriptor, int, const void*, std::size_t)>("cublasLtMatmulDescSetAttribute")),
        create_layout(library.require<int(Descriptor*, int, std::uint64_t, std::uint64_t, std::int64_t)>(
            "cublasLtMatrixLayoutCreate")),
        set_layout(library.require<int(Descriptor, int, const void*, std::size_t)>("cublasLtMatrixLayoutSetAttribute")),
        create_preference(library.require<int(Descriptor*)>("cublasLtMatmulPreferenceCreate")),
        set_preference(
            library.require<int(Descriptor, int, const void*, std::size_t)>("cublasLtMatmulPreferenceSetAttribute")),
        propose(library.require<int(Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, int,
                                    Proposal*, int*)>("cublasLtMatmulAlgoGetHeuristic")),
        multiply(library.require<int(Handle, Descriptor, const void*, const void*, Descriptor, const void*, Descriptor,
                                     const void*, const void*, Descriptor, void*, Descriptor, const Algorithm*, void*,
                                     std::size_t, void*)>("cublasLtMatmul")) {}

  int (*create)(Handle*);
  std::size_t (*version)();
  int (*create_product)(Descriptor*, int, int);
  int (*set_product)(Descriptor, int, const void*, std::size_t);
  int (*create_layout)(Descriptor*, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*set_layout)(Descriptor, int, const void*, std::size_t);
  int (*create_preference)(Descriptor*);
  int (*set_preference)(Descriptor, int, const void*, std::size_t);
  int (*propose)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, int, Proposal*, int*);
  int (*multiply)(Handle, Descriptor, const void*, const void*, Descriptor, const void*, Descriptor, const void*,
                  const void*, Descriptor, void*, Descriptor, const Algorithm*, void*, std::size_t, void*);
};

void require(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
}

/// One product described to the library. Descriptors live as long as the program: there are few of them.
struct Settled {
  const Functions* functions;
  Handle handle;
  Descriptor product = nullptr;
  Descriptor first = nullptr;
  Descriptor second = nullptr;
  Descriptor result = nullptr;
  CublasScalars scalars;
  void* workspace;
  void* stream;

  /// In the order of C^T = B^T A^T.
  [[nodiscard]] int run(const Algorithm& algorithm, const void* a, const void* b, void* c) const {
    return functions->multiply(handle, product, scalars.one(), b, first, a, second, scalars.zero(), c, result, c,
                               result, &algorithm, workspace, workspace_bytes, stream);
  }
};

/// cublasLtMatmul with the fastest of the algorithms that the library proposes.
class Cublaslt final : public Contender {
 public:
  Cublaslt(const std::string& path, const Context& context, bool fast_sums)
      : library_(path),
        functions_(library_),
        context_(context),
        workspace_(allocate(workspace_bytes)),
        fast_sums_(fast_sums) {
    require(functions_.create(&handle_), "cublasLtCreate");
  }

  std::string version() const override {
    return "cuBLASLt " + std::to_string(functions_.version()) + ", best of " + std::to_string(most_proposals);
  }
  void set_threads(int) override {}

  std::unique_ptr<Call> prepare(const Product& product) const override {
    const auto types = cublas_types(product);
    const auto shape = cublas_shape(product);
    if (!types || !shape) return nullptr;
    const Settled settled = settle(*types, *shape);
    std::vector<Proposal> proposals = propose(settled);
    if (proposals.empty()) return nullptr;
    return make_call([settled, best = fastest(settled, proposals, product)](const void* a, const void* b, void* c) {
      require(settled.run(best, a, b, c), "cublasLtMatmul");
    });
  }

 private:
  [[nodiscard]] DeviceMemory allocate(std::size_t bytes) const {
    Result<DeviceMemory> memory = context_.allocate(static_cast<std::int64_t>(bytes));
    if (!memory.ok()) throw std::runtime_error(std::string(memory.status().message()));
    return std::move(memory).value();
  }

  [[nodiscard]] Settled settle(const CublasTypes& t, const CublasShape& s) const {
    Settled settled{.functions = &functions_,
                    .handle = handle_,
                    .scalars = CublasScalars(t),
                    .workspace = workspace_.at(),
                    .stream = context_.execution().queue};
    require(functions_.create_product(&settled.product, t.compute, t.scale), "cublasLtMatmulDescCreate");
    const int first = s.transposes_first ? 1 : 0;
    const int second = s.transposes_second ? 1 : 0;
    require(functions_.set_product(settled.product, attribute_transpose_first, &first, sizeof first), "transpose");
    require(functions_.set_product(settled.product, attribute_transpose_second, &second, sizeof second), "transpose");
    const std::int8_t fast_sums = fast_sums_ ? 1 : 0;
    require(functions_.set_product(settled.product, attribute_fast_sums, &fast_sums, sizeof fast_sums), "fast sums");
    settled.first = layout(t.input, s.transposes_first ? s.k : s.m, s.transposes_first ? s.m : s.k, s.first_leading,
                           s.batch, s.first_distance);
    settled.second = layout(t.input, s.transposes_second ? s.n : s.k, s.transposes_second ? s.k : s.n, s.second_leading,
                            s.batch, s.second_distance);
    settled.result = layout(t.output, s.m, s.n, s.c_leading, s.batch, s.c_distance);
    return settled;
  }

  [[nodiscard]] Descriptor layout(int type, int rows, int columns, std::int64_t leading, int batch,
                                  std::int64_t distance) const {
    Descriptor made = nullptr;
    require(functions_.create_layout(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                     leading),
            "cublasLtMatrixLayoutCreate");
    require(functions_.set_layout(made, attribute_batch_count, &batch, sizeof batch), "batch count");
    require(functions_.set_layout(made, attribute_batch_distance, &distance, sizeof distance), "batch distance");
    return made;
  }

  [[nodiscard]] std::vector<Proposal> propose(const Settled& s) const {
    Descriptor preference = nullptr;
    require(functions_.create_preference(&preference), "cublasLtMatmulPreferenceCreate");
    const std::uint64_t bytes = workspace_bytes;
    require(functions_.set_preference(preference, preference_workspace_bytes, &bytes, sizeof bytes), "preference");
    std::vector<Proposal> proposals(most_proposals);
    int found = 0;
    // A status here says that the library has nothing for this product.
    if (functions_.propose(handle_, s.product, s.first, s.second, s.result, s.result, preference, most_proposals,
                           proposals.data(), &found) != 0)
      found = 0;
    proposals.resize(static_cast<std::size_t>(found));
    return proposals;
  }

  /// Each is run a few times on operands of its own.
  [[nodiscard]] Algorithm fastest(const Settled& settled, const std::vector<Proposal>& proposals,
                                  const Product& p) const {
    // Normal numbers whatever the comparison's are: power depends on them.
    const OperandSets sets(p, 1, &context_);
    const Operands at = sets.at(0);
    Algorithm best = proposals.front().algorithm;
    double least = 0;
    for (const Proposal& proposal : proposals) {
      const double seconds = time(settled, proposal.algorithm, at);
      if (seconds > 0 && (least == 0 || seconds < least)) {
        least = seconds;
        best = proposal.algorithm;
      }
    }
    return best;
  }

  /// Seconds of a call; 0 where the algorithm does not run.
  [[nodiscard]] double time(const Settled& settled, const Algorithm& algorithm, const Operands& at) const {
    std::array<double, 5> seconds{};
    for (double& one : seconds) {
      int status = 0;
      const Result<double> timed = context_.time([&] {
        for (int call = 0; call < 4; ++call) status |= settled.run(algorithm, at.a, at.b, at.c);
        return Status();
      });
      if (status != 0 || !timed.ok()) return 0;
      one = timed.value();
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  SharedObject library_;
  Functions functions_;
  const Context& context_;
  DeviceMemory workspace_;
  bool fast_sums_;
  Handle handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_cublaslt(const std::string& path, const Context& context, bool fast_sums) {
  return std::make_unique<Cublaslt>(path, context, fast_sums);
}

}  // namespace exactile::comparison
