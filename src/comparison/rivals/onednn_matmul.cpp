// SPDX-License-Identifier: Apache-2.0
/// \file
/// oneDNN's matmul primitive (version 3): unlike its sgemm, it is told the shape ahead.
#include <array>
#include <optional>
#include <stdexcept>

#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/onednn.hpp"

namespace exactile::comparison {
namespace {

// Every handle of this interface is an opaque pointer.
using Handle = void*;

struct Argument {
  int role;
  Handle memory;
};
constexpr int role_source = 1;
constexpr int role_destination = 17;
constexpr int role_weights = 33;

using EngineCreate = int(Handle* engine, int kind, std::size_t index);
using StreamCreate = int(Handle* stream, Handle engine, unsigned flags);
using DescriptionCreate = int(Handle* description, int dimensions, const std::int64_t* sizes, int type,
                              const std::int64_t* strides);
using MatmulCreate = int(Handle* description, Handle engine, Handle source, Handle weights, Handle bias,
                         Handle destination, Handle attributes);
using PrimitiveCreate = int(Handle* primitive, Handle description);
using MemoryCreate = int(Handle* memory, Handle description, Handle engine, void* data);
using SetData = int(Handle memory, void* data);
using Execute = int(Handle primitive, Handle stream, int count, const Argument* arguments);
using Wait = int(Handle stream);

void check(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string("oneDNN: ") + call + " answered " + std::to_string(status));
}

class OnednnMatmul final : public Rival {
 public:
  explicit OnednnMatmul(const std::string& path) : library_(path) {
    constexpr int cpu = 1;
    constexpr unsigned in_order = 1;
    check(library_.require<EngineCreate>("dnnl_engine_create")(&engine_, cpu, 0), "dnnl_engine_create");
    check(library_.require<StreamCreate>("dnnl_stream_create")(&stream_, engine_, in_order), "dnnl_stream_create");
  }

  std::string version() const override { return onednn_version(library_) + ", matmul primitive"; }
  void set_threads(int threads) override { set_onednn_threads(library_, threads); }

  std::unique_ptr<Call> prepare_one(const Product& p) const override {
    const auto input = type_of(p.type);
    const auto input_b = type_of(p.type_b);
    const auto output = type_of(p.output);
    if (!input || !input_b || !output) return nullptr;
    const auto a = describe(p.m, p.k, p.a, *input);
    const auto b = describe(p.k, p.n, p.b, *input_b);
    const auto c = describe(p.m, p.n, p.c, *output);
    const Handle primitive = primitive_of(a, b, c);
    return primitive == nullptr ? nullptr : call_of(primitive, memory_of(a), memory_of(b), memory_of(c));
  }

 private:
  /// oneDNN's number of the type.
  static std::optional<int> type_of(ElementType type) {
    switch (type) {
      case ElementType::f16: return 1;
      case ElementType::bf16: return 2;
      case ElementType::f32: return 3;
      case ElementType::i32: return 4;
      case ElementType::i8: return 5;
      case ElementType::u8: return 6;
      default: return std::nullopt;
    }
  }

  // Handles are kept until the program ends; there are a few dozen of them.
  Handle describe(std::int64_t rows, std::int64_t columns, const Layout& layout, int type) const {
    const std::array<std::int64_t, 2> sizes{rows, columns};
    const std::array<std::int64_t, 2> strides{layout.transposed ? 1 : layout.leading,
                                              layout.transposed ? layout.leading : 1};
    Handle description = nullptr;
    check(library_.require<DescriptionCreate>("dnnl_memory_desc_create_with_strides")(&description, 2, sizes.data(),
                                                                                      type, strides.data()),
          "dnnl_memory_desc_create_with_strides");
    return description;
  }

  /// Null where the processor has no implementation of it.
  Handle primitive_of(Handle a, Handle b, Handle c) const {
    constexpr int unimplemented = 3;
    Handle description = nullptr;
    const int status = library_.require<MatmulCreate>("dnnl_matmul_primitive_desc_create")(&description, engine_, a, b,
                                                                                           nullptr, c, nullptr);
    if (status == unimplemented) return nullptr;
    check(status, "dnnl_matmul_primitive_desc_create");
    Handle primitive = nullptr;
    check(library_.require<PrimitiveCreate>("dnnl_primitive_create")(&primitive, description), "dnnl_primitive_create");
    return primitive;
  }

  Handle memory_of(Handle description) const {
    Handle memory = nullptr;
    check(library_.require<MemoryCreate>("dnnl_memory_create")(&memory, description, engine_, nullptr),
          "dnnl_memory_create");
    return memory;
  }

  std::unique_ptr<Call> call_of(Handle primitive, Handle memory_a, Handle memory_b, Handle memory_c) const {
    auto* set_data = library_.require<SetData>("dnnl_memory_set_data_handle");
    auto* execute = library_.require<Execute>("dnnl_primitive_execute");
    auto* wait = library_.require<Wait>("dnnl_stream_wait");
    const std::array<Argument, 3> arguments{
        {{role_source, memory_a}, {role_weights, memory_b}, {role_destination, memory_c}}};
    return make_call([=, stream = stream_](const void* a, const void* b, void* c) {
      set_data(memory_a, const_cast<void*>(a));
      set_data(memory_b, const_cast<void*>(b));
      set_data(memory_c, c);
      execute(primitive, stream, 3, arguments.data());
      wait(stream);
    });
  }

  SharedObject library_;
  Handle engine_ = nullptr;
  Handle stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_onednn_matmul(const std::string& path) { return std::make_unique<OnednnMatmul>(path); }

}  // namespace exactile::comparison
