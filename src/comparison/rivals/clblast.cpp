// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {
namespace {

using Memory = void*;  // cl_mem
using Queue = void*;   // cl_command_queue

/// What an operand's address points at on OpenCL: exactile::opencl::BufferSpan, told without OpenCL's headers.
struct Buffer {
  Memory memory;
  std::int64_t byte_offset;
};

template <class T>
using Gemm = int(int layout, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha,
                 Memory a, std::size_t a_offset, std::size_t lda, Memory b, std::size_t b_offset, std::size_t ldb,
                 T beta, Memory c, std::size_t c_offset, std::size_t ldc, Queue* queue, void** event);
template <class T>
using Batched = int(int layout, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha,
                    Memory a, std::size_t a_offset, std::size_t lda, std::size_t a_stride, Memory b,
                    std::size_t b_offset, std::size_t ldb, std::size_t b_stride, T beta, Memory c, std::size_t c_offset,
                    std::size_t ldc, std::size_t c_stride, std::size_t batch, Queue* queue, void** event);

constexpr int row_major = 101;
int order(const Layout& layout) { return layout.transposed ? 112 : 111; }
std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

class Clblast final : public Contender {
 public:
  Clblast(const std::string& path, const Context& context) : library_(path), queue_(context.execution().queue) {
    (void)library_.require<void()>("CLBlastSgemm");
  }

  /// It does not say its version; the name of its file does.
  std::string version() const override {
    return "CLBlast, " + std::filesystem::path(library_.file_of("CLBlastSgemm")).filename().string();
  }
  void set_threads(int) override {}

  std::unique_ptr<Call> prepare(const Product& p) const override {
    if (p.type != p.output || p.a.step != 1 || p.b.step != 1 || p.c.step != 1) return nullptr;
    constexpr std::uint16_t half_one = 0x3c00;
    switch (p.type) {
      case ElementType::f32: return prepare_as<float>("S", 1, p);
      case ElementType::f64: return prepare_as<double>("D", 1, p);
      case ElementType::f16: return prepare_as<std::uint16_t>("H", half_one, p);
      default: return nullptr;
    }
  }

 private:
  template <class T>
  std::unique_ptr<Call> prepare_as(const std::string& letter, T one, const Product& p) const {
    auto* gemm = library_.require<Gemm<T>>("CLBlast" + letter + "gemm");
    auto* batched = library_.require<Batched<T>>("CLBlast" + letter + "gemmStridedBatched");
    return make_call([=, queue = queue_](const void* a, const void* b, void* c) {
      const auto memory = [](const void* at) { return static_cast<const Buffer*>(at)->memory; };
      const auto offset = [](const void* at) { return size(static_cast<const Buffer*>(at)->byte_offset) / sizeof(T); };
      Queue on = queue;
      const int status = p.batch == 1
                             ? gemm(row_major, order(p.a), order(p.b), size(p.m), size(p.n), size(p.k), one, memory(a),
                                    offset(a), size(p.a.leading), memory(b), offset(b), size(p.b.leading), T(),
                                    memory(c), offset(c), size(p.c.leading), &on, nullptr)
                             : batched(row_major, order(p.a), order(p.b), size(p.m), size(p.n), size(p.k), one,
                                       memory(a), offset(a), size(p.a.leading), size(p.a.elements()), memory(b),
                                       offset(b), size(p.b.leading), size(p.b.elements()), T(), memory(c), offset(c),
                                       size(p.c.leading), size(p.c.elements()), size(p.batch), &on, nullptr);
      if (status != 0) throw std::runtime_error("CLBlast: status " + std::to_string(status));
    });
  }

  SharedObject library_;
  Queue queue_;
};

}  // namespace

std::unique_ptr<Contender> make_clblast(const std::string& path, const Context& context) {
  return std::make_unique<Clblast>(path, context);
}

}  // namespace exactile::comparison
