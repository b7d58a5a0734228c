// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/cblas.hpp"
#include "comparison/rivals/kinds.hpp"

namespace exactile::comparison {
namespace {

// The build for Python packages puts this before every name, so that it can live beside another BLAS.
std::string symbol_prefix(const SharedObject& library) {
  return library.find<void()>("cblas_sgemm") == nullptr ? "scipy_" : "";
}

class Openblas final : public Rival {
 public:
  explicit Openblas(const std::string& path, CblasRoutines routines)
      : library_(path), prefix_(symbol_prefix(library_)), cblas_(library_, prefix_, routines) {}

  std::string version() const override {
    auto* config = library_.find<const char*()>(prefix_ + "openblas_get_config");
    std::string text = config != nullptr ? config() : library_.file_of(prefix_ + "cblas_sgemm");
    if (auto* core = library_.find<const char*()>(prefix_ + "openblas_get_corename"))
      text += std::string(" on ") + core();
    return text;
  }
  void set_threads(int threads) override { library_.require<void(int)>(prefix_ + "openblas_set_num_threads")(threads); }
  std::unique_ptr<Call> prepare_one(const Product& product) const override { return cblas_.prepare(product); }

 private:
  SharedObject library_;
  std::string prefix_;
  Cblas cblas_;
};

}  // namespace

std::unique_ptr<Contender> make_openblas(const std::string& path, CblasRoutines routines) {
  return std::make_unique<Openblas>(path, routines);
}

}  // namespace exactile::comparison
