// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/cblas.hpp"
#include "comparison/rivals/kinds.hpp"

namespace exactile::comparison {
namespace {

class Blis final : public Rival {
 public:
  explicit Blis(const std::string& path) : library_(path), cblas_(library_, "", CblasRoutines::gemm) {}

  std::string version() const override {
    return std::string("BLIS ") + library_.require<const char*()>("bli_info_get_version_str")();
  }
  void set_threads(int threads) override {
    // dim_t is 64 bits wide in every BLIS of a 64-bit machine.
    library_.require<void(std::int64_t)>("bli_thread_set_num_threads")(threads);
  }
  std::unique_ptr<Call> prepare_one(const Product& product) const override { return cblas_.prepare(product); }

 private:
  SharedObject library_;
  Cblas cblas_;
};

}  // namespace

std::unique_ptr<Contender> make_blis(const std::string& path) { return std::make_unique<Blis>(path); }

}  // namespace exactile::comparison
