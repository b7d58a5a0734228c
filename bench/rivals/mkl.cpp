// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "rivals/cblas.hpp"
#include "rivals/kinds.hpp"

namespace exactile::bench {
namespace {

class Mkl final : public Rival {
 public:
  explicit Mkl(const std::string& path) : library_(path), cblas_(library_, "") {}

  std::string version() const override {
    std::array<char, 256> text{};
    library_.require<void(char*, int)>("MKL_Get_Version_String")(text.data(), static_cast<int>(text.size()) - 1);
    return std::string(text.data());
  }
  // The layer settles at the library's first product and cannot be changed later.
  void set_threads(int threads) override {
    constexpr int sequential = 1;
    constexpr int gnu = 3;
    library_.require<int(int)>("MKL_Set_Threading_Layer")(threads == 1 ? sequential : gnu);
    library_.require<void(int)>("MKL_Set_Num_Threads")(threads);
  }
  std::unique_ptr<Call> prepare_one(const Product& product) const override { return cblas_.prepare(product); }

 private:
  SharedObject library_;
  Cblas cblas_;
};

}  // namespace

std::unique_ptr<Contender> make_mkl(const std::string& path) { return std::make_unique<Mkl>(path); }

}  // namespace exactile::bench
