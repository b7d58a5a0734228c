// SPDX-License-Identifier: Apache-2.0
// `sm80_f64_mma`: f64 on the FP64 tensor cores as sm_80 has them (m8n8k4). All warps copy, all multiply: a multistage
// pipeline in shared memory, filled by cp.async some stages ahead, one __syncthreads a stage. Tiles, fragments, chunks
// of K and epilogue are those of `sm90_f64_mma`. See docs/design/f64_mma.md.
#include <array>
#include <memory>

#include "cuda/kernels/dmma/product.hpp"
#include "cuda/kernels/dmma/store.cuh"
#include "cuda/kernels/kernels.hpp"
#include "cuda/runtime/shared_memory.hpp"

namespace exactile::cuda {
namespace {

using namespace dmma;

template <int Bm, int Bn, int Wm, int Wn, int Stages>
struct Tile {
  static constexpr int bm = Bm;
  static constexpr int bn = Bn;
  static constexpr int stages = Stages;
  static constexpr int warps_down = Bm / Wm;
  static constexpr int threads = 32 * warps_down * (Bn / Wn);
  static constexpr int a_bytes = Bm * line_bytes;
  static constexpr int stage_bytes = (Bm + Bn) * line_bytes;
  static constexpr int shared_bytes = Stages * stage_bytes + 1024;
  using Warp = WarpTile<Wm, Wn, Instruction::m8n8k4, 8>;
  static_assert(threads == 256);  // one half fills A, the other one B
};

/// This thread's half of the copies.
template <class T>
class Copies {
 public:
  __device__ Copies(const Parameters& w, const WorkTile& work_tile, char* stages)
      : stages_(stages), a_(w.a, threadIdx.x % 128), b_(w.b, threadIdx.x % 128) {
    const std::int64_t k = k_at(w, work_tile.first_chunk);
    const std::int64_t end = k_at(w, work_tile.end_chunk);
    left_ = static_cast<int>((end - k + block_k - 1) / block_k);
    a_.start(work_tile.product, work_tile.row, w.m, k, w.k);
    b_.start(work_tile.product, work_tile.column, w.n, k, w.k);
  }
  /// Begins the copies of the next stage, if there is one. Every call closes a group.
  __device__ void next() {
    if (left_ > 0) {
      char* const to = stages_ + stage_ * T::stage_bytes;
      if (threadIdx.x < 128) {
        a_.fill(to);
      } else {
        b_.fill(to + T::a_bytes);
      }
      stage_ = stage_ + 1 == T::stages ? 0 : stage_ + 1;
      --left_;
    }
    isa::copy_async_commit();
  }

 private:
  char* stages_;
  Filler<Side::a, T::bm> a_;
  Filler<Side::b, T::bn> b_;
  int left_;
  int stage_ = 0;
};

template <class T>
__global__ void __launch_bounds__(T::threads) kernel(const __grid_constant__ Parameters w) {
  extern __shared__ char shared[];
  char* stages = shared + (-static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) & 1023);
  const WorkTile work_tile = work_tile_at<T::bm, T::bn>(w, blockIdx.x);
  const int warp = threadIdx.x / 32;
  typename T::Warp tile(threadIdx.x % 32, warp % T::warps_down * T::Warp::rows,
                        warp / T::warps_down * T::Warp::columns);
  Copies<T> copies(w, work_tile, stages);
  for (int s = 0; s + 1 < T::stages; ++s) copies.next();

  int stage = 0;
  for (std::uint32_t chunk = work_tile.first_chunk; chunk < work_tile.end_chunk; ++chunk) {
    const auto k_count = static_cast<int>(k_at(w, chunk + 1) - k_at(w, chunk));
    tile.clear();
    for (int p = 0; p < k_count; p += block_k) {
      isa::copy_async_wait<T::stages - 2>();
      __syncthreads();  // this stage is there for all, and all are done with the one that is filled next
      copies.next();
      const char* a = stages + stage * T::stage_bytes;
      const char* b = a + T::a_bytes;
      const typename T::Warp::Step low{a, b, 0};
      const typename T::Warp::Step high{a, b, 1};
      tile.prepare(low);
      tile.template multiply<0, true>(
          low, [] {}, [&] { return high; });
      tile.template multiply<1, false>(
          high, [] {}, [&] { return high; });
      stage = stage + 1 == T::stages ? 0 : stage + 1;
    }
    store_chunk(tile, w, work_tile, chunk);
  }
}

using Large = Tile<128, 128, 64, 32, 4>;
using Medium = Tile<64, 64, 32, 16, 4>;

template <class T>
Status launch_tile(const Parameters& parameters, const Device& /*device*/, std::string_view name, cudaStream_t stream) {
  if (Status s = allow_shared_memory(kernel<T>, T::shared_bytes, name); !s.ok()) return s;
  kernel<T><<<parameters.work_tiles, T::threads, T::shared_bytes, stream>>>(parameters);
  return check_launch(name);
}

template <class T>
constexpr TileKind kind() {
  return {T::bm, T::bn, T::stages, 1, 1, launch_tile<T>, nullptr};
}
constexpr std::array kinds{kind<Large>(), kind<Medium>()};

constexpr std::array f64_types{GemmTypes{ElementType::f64, ElementType::f64}};

}  // namespace

std::unique_ptr<DeviceProduct> make_sm80_f64(const plan::Problem& p, const Device& device, const Configuration& c,
                                             std::int64_t k_of_chunk) {
  return std::make_unique<DmmaProduct>(tiling_of(p.description, kinds, c, k_of_chunk), device, "sm80_f64_mma");
}

const Kernel sm80_f64_mma{
    .name = "sm80_f64_mma",
    .role = "engine",
    .summary = "FP64 tensor cores, m8n8k4, cp.async",
    .types = f64_types,
    .least_capability = 80,
    .refuses = [](const plan::Problem& p, const Device&) { return why_refused(p.description); },
    .candidates = [](const plan::Problem& p, const Device& device) { return candidates(p, device, kinds); },
    .make = [](const plan::Problem& p, const Device& device,
               const Configuration& c) { return make_sm80_f64(p, device, c, dmma::chunk_k); },
    .has_instances = true};

}  // namespace exactile::cuda
