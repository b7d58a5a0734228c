// SPDX-License-Identifier: Apache-2.0
// The planner takes one way of laying a product of bf16, f16 or i8 over the device; here every way is run: all tiles,
// splits of K, clusters and numbers of CTAs on an SM, with C stored in boxes, in rows and by elements. Operands are
// small integers, so that every sum is exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>
#include <random>

#include "cuda/kernels/sm90/native/plan.hpp"
#include "cuda/runtime/device.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

namespace native = cuda::sm90::native;

struct PaddedShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t gap = 0;  ///< elements between the rows of C, of which one is before the first
  std::int64_t batches = 1;
  std::int64_t shift = 0;  ///< elements in memory before A; before B twice as many
  bool shares_b = false;   ///< one for all products

  [[nodiscard]] std::int64_t pitch() const { return n + gap; }
  /// Rows of C, of all products.
  [[nodiscard]] std::int64_t rows() const { return batches * m; }
  [[nodiscard]] std::int64_t distinct_b() const { return shares_b ? 1 : batches; }
  [[nodiscard]] std::int64_t c_count() const { return rows() * pitch() + (gap > 0 ? 1 : 0); }
  /// Where an element of C is; rows of all products are counted.
  [[nodiscard]] std::int64_t place(std::int64_t i, std::int64_t j) const { return i * pitch() + j + (gap > 0 ? 1 : 0); }
};

template <class T>
T element(int x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(x);
  } else {
    return T(static_cast<float>(x));
  }
}

/// Memory of the device, full of NaN or -1.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    EXPECT_EQ(cudaMalloc(&data_, bytes_), cudaSuccess);
    poison();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  void poison() { EXPECT_EQ(cudaMemset(data_, 0xff, bytes_), cudaSuccess); }
  void upload(const void* from) { EXPECT_EQ(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice), cudaSuccess); }
  void download(void* to) const { EXPECT_EQ(cudaMemcpy(to, data_, bytes_, cudaMemcpyDeviceToHost), cudaSuccess); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

template <class In, class Out>
class AllLayouts {
 public:
  AllLayouts(GemmTypes types, const PaddedShape& shape, bool b_is_transposed)
      : shape_(shape),
        a_((shape.shift + shape.rows() * shape.k) * size_in_bytes(types.input)),
        b_((2 * shape.shift + shape.distinct_b() * shape.k * shape.n) * size_in_bytes(types.input)),
        c_(shape.c_count() * size_in_bytes(types.output)) {
    const std::int64_t m = shape.m, n = shape.n, k = shape.k;
    const std::int64_t to_next_b = shape.shares_b ? 0 : k * n;
    description_ = {.types = types,
                    .m = m,
                    .n = n,
                    .k = k,
                    .a = {k, 1, m * k},
                    .b = b_is_transposed ? OperandLayout{1, k, to_next_b} : OperandLayout{n, 1, to_next_b},
                    .c = {shape.pitch(), 1, m * shape.pitch()},
                    .batch_count = shape.batches};
    std::mt19937 random(1);
    const auto values = [&](std::int64_t count) {
      std::vector<int> all(static_cast<std::size_t>(count));
      for (int& x : all) x = static_cast<int>(random() % 3) - 1;
      return all;
    };
    const std::vector<int> a = values(shape.rows() * k), b = values(shape.distinct_b() * k * n);
    fill(a_, a, shape.shift);
    fill(b_, b, 2 * shape.shift);
    want_.resize(static_cast<std::size_t>(shape.rows() * n));
    for (std::int64_t i = 0; i < shape.rows(); ++i) {
      const int* const b_of_product = b.data() + i / m * to_next_b;
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t j = 0; j < n; ++j)
          want_[at(i * n + j)] += a[at(i * k + p)] * b_of_product[b_is_transposed ? j * k + p : p * n + j];
    }
  }

  /// Layouts run. alpha: 1, or 2 and C is added to.
  int run(const cuda::Device& device, bool adds_to_c) {
    int count = 0;
    for (native::TileKind kind : native::tile_kinds<sizeof(In)>()) {
      if (kind.division.slice_blocks > 0) kind.division.slice_blocks = 2;  // so that these K have slices
      for (const cuda::Candidate& candidate :
           native::candidates(description_, description_.types.input, std::span(&kind, 1), device)) {
        check(native::launch_config_of(description_, description_.types.input, candidate.configuration), device,
              adds_to_c);
        ++count;
        if (testing::Test::HasFailure()) return count;
      }
    }
    return count;
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  static void fill(Buffer& to, const std::vector<int>& from, std::int64_t shift) {
    std::vector<In> elements(at(shift), element<In>(1));
    for (const int x : from) elements.push_back(element<In>(x));
    to.upload(elements.data());
  }

  /// A sum beyond 256 is rounded to bf16 once, as what is expected is.
  static bool is_other(Out x, int want) { return static_cast<float>(x) != static_cast<float>(element<Out>(want)); }

  void check(const native::LaunchConfig& config, const cuda::Device& device, bool adds_to_c) {
    const auto product = native::make_product<In>(config, device);
    const std::string name =
        fmt::format("{} of {}x{}x{} {}", shape_.batches, shape_.m, shape_.n, shape_.k, product->blocking());
    GemmArguments arguments{.a = static_cast<In*>(a_.data()) + shape_.shift,
                            .b = static_cast<In*>(b_.data()) + 2 * shape_.shift,
                            .c = static_cast<Out*>(c_.data()) + shape_.place(0, 0)};
    Out before = element<Out>(3);
    if (!adds_to_c) std::memset(static_cast<void*>(&before), 0xff, sizeof(Out));  // as poison() leaves it
    std::vector<Out> got(at(shape_.c_count()), before);
    if (adds_to_c) {
      c_.upload(got.data());
      arguments.alpha = 2;
      arguments.beta = -1;
    } else {
      c_.poison();
    }
    const Buffer workspace(product->workspace_bytes_for(arguments) + 1);
    const Status status = product->launch({.arguments = arguments, .workspace = workspace.data()});
    ASSERT_TRUE(status.ok()) << name << ": " << status.message();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << name;
    c_.download(got.data());
    std::size_t wrong = 0, spoilt = 0;
    for (std::int64_t i = 0; i < shape_.rows(); ++i)
      for (std::int64_t j = 0; j < shape_.n; ++j) {
        const int want = want_[at(i * shape_.n + j)];
        wrong += is_other(got[at(shape_.place(i, j))], adds_to_c ? 2 * want - 3 : want) ? 1U : 0U;
        got[at(shape_.place(i, j))] = before;
      }
    for (const Out& x : got) spoilt += std::memcmp(&x, &before, sizeof(Out)) != 0 ? 1U : 0U;
    EXPECT_EQ(wrong, 0U) << name;
    EXPECT_EQ(spoilt, 0U) << name << ": elements beside C";
  }

  PaddedShape shape_;
  GemmDescription description_;
  Buffer a_, b_, c_;
  std::vector<int> want_;
};

/// SMs enough for any cluster, and so few that each computes several tiles: what it stores of one it stores while it
/// multiplies the next, of one, two or more blocks of K.
constexpr int few_sms = 12;
constexpr PaddedShape several_tiles[] = {{1032, 784, 48}, {1032, 784, 104}, {1032, 784, 328}};
/// The same where K is taken in chunks and 16 terms are left to the last one.
constexpr PaddedShape short_last_slice = {264, 272, 32784};

template <class In, class Out>
void run_all(GemmTypes types) {
  SKIP_WITHOUT_GPU();
  const cuda::Device& device = cuda::devices().front();
  if (device.compute_capability != 90) GTEST_SKIP() << "needs compute capability 9.0";
  ASSERT_EQ(cudaSetDevice(device.index), cudaSuccess);
  int count = 0;
  // In boxes; in aligned rows where a tile is no box; in rows at any address, with copies of A and B, or of one of
  // them; copies of the A and B of several products, because of their rows or of where the first ones lie, also where
  // they have one B. In the second, tiles of one column share it in clusters of four rows.
  for (const PaddedShape& shape : {PaddedShape{300, 528, 1104}, PaddedShape{264, 72, 328}, PaddedShape{261, 137, 515},
                                   PaddedShape{141, 275, 515, 3}, PaddedShape{137, 272, 205},
                                   PaddedShape{137, 261, 208}, PaddedShape{75, 139, 515, 0, 3, 3},
                                   PaddedShape{66, 144, 208, 0, 3, 3}, PaddedShape{75, 139, 515, 0, 3, 3, true}})
    for (const bool b_is_transposed : {false, true}) {
      AllLayouts<In, Out> layouts(types, shape, b_is_transposed);
      count += layouts.run(device, false);
      if (b_is_transposed) count += layouts.run(device, true);
    }
  EXPECT_GT(count, 100);
  cuda::Device small = device;
  small.sm_count = few_sms;
  const auto run_small = [&](const PaddedShape& shape) {
    EXPECT_GT((AllLayouts<In, Out>(types, shape, false).run(small, false)), 10);
  };
  for (const PaddedShape& shape : several_tiles) run_small(shape);
  if (sizeof(In) > 1) run_small(short_last_slice);  // 8-bit types have no chunks before twice that K
}

TEST(NativeLayouts, Bf16) { run_all<__nv_bfloat16, __nv_bfloat16>({ElementType::bf16, ElementType::bf16}); }
TEST(NativeLayouts, F16ToF32) { run_all<__half, float>({ElementType::f16, ElementType::f32}); }
TEST(NativeLayouts, F8E4M3) { run_all<__nv_fp8_e4m3, __nv_bfloat16>({ElementType::f8e4m3, ElementType::bf16}); }
TEST(NativeLayouts, F8E5M2) { run_all<__nv_fp8_e5m2, float>({ElementType::f8e5m2, ElementType::f32}); }
TEST(NativeLayouts, Tf32) { run_all<float, float>({ElementType::f32, ElementType::f32}); }
TEST(NativeLayouts, I8) { run_all<std::int8_t, std::int32_t>({ElementType::i8, ElementType::i32}); }

}  // namespace
}  // namespace exactile::test
