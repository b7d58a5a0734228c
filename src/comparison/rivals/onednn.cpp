// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/onednn.hpp"

#include <cstdint>

#include "comparison/rivals/kinds.hpp"

namespace exactile::comparison {
namespace {

using DnnlSgemm = int(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                      const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                      std::int64_t ldc);

struct DnnlVersion {
  int major;
  int minor;
  int patch;
  const char* hash;
};

/// The members of tbb::global_control, whose constructor hands itself to the runtime.
struct TbbControl {
  std::size_t value;
  std::intptr_t reserved;
  int parameter;
};

class Onednn final : public Rival {
 public:
  explicit Onednn(const std::string& path) : library_(path), sgemm_(library_.require<DnnlSgemm>("dnnl_sgemm")) {}

  std::string version() const override { return onednn_version(library_); }
  void set_threads(int threads) override { set_onednn_threads(library_, threads); }

  std::unique_ptr<Call> prepare_one(const Product& p) const override {
    if (p.type != ElementType::f32) return nullptr;
    return make_call([sgemm = sgemm_, p](const void* a, const void* b, void* c) {
      sgemm(p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N', p.m, p.n, p.k, 1.0F, static_cast<const float*>(a),
            p.a.leading, static_cast<const float*>(b), p.b.leading, 0.0F, static_cast<float*>(c), p.c.leading);
    });
  }

 private:
  SharedObject library_;
  DnnlSgemm* sgemm_;
};

}  // namespace

std::string onednn_version(const SharedObject& library) {
  const DnnlVersion* v = library.require<const DnnlVersion*()>("dnnl_version")();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

void set_onednn_threads(const SharedObject& library, int threads) {
  if (auto* set = library.find<void(int)>("omp_set_num_threads")) return set(threads);
  constexpr int max_allowed_parallelism = 0;
  // The runtime keeps the pointer.
  static TbbControl control{static_cast<std::size_t>(threads), 0, max_allowed_parallelism};
  library.require<void(TbbControl&)>("_ZN3tbb6detail2r16createERNS0_2d114global_controlE")(control);
}

std::unique_ptr<Contender> make_onednn(const std::string& path) { return std::make_unique<Onednn>(path); }

}  // namespace exactile::comparison
