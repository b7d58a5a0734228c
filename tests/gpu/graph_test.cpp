// SPDX-License-Identifier: Apache-2.0
// Every kernel can be captured in a CUDA graph: a run neither waits nor allocates out of stream order. The graph,
// launched twice, leaves the bits of a plain run.
#include "exactile/interop/cuda.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The graph of one run; null (and a failed test) where the run could not be captured.
cudaGraphExec_t captured(const DeviceProduct& product, cudaStream_t stream, const KernelOfType& kernel) {
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const Status status = product.plan()->run(product.arguments(), interop::on(stream));
  EXPECT_TRUE(status.ok()) << test_name(kernel) << ": " << status.message();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << test_name(kernel);
  if (graph == nullptr) return nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess) << test_name(kernel);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return executable;
}

TEST(Graph, EveryKernelIsCapturedAndReplayed) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const Stream stream;
  for (const KernelOfType& kernel : cuda_kernels()) {
    int replayed = 0;
    for (const auto& [m, n, k] : shapes_of_all_kinds) {
      DeviceProduct product(context.value(), kernel, m, n, k);
      if (!product.plan()) continue;
      ASSERT_TRUE(product.plan()->run(product.arguments(), context.value().execution()).ok());
      const std::vector<std::byte> expected = product.result();
      cudaGraphExec_t graph = captured(product, stream.get(), kernel);
      if (graph == nullptr) continue;
      for (int launch = 0; launch < 2; ++launch) {
        product.poison();
        ASSERT_TRUE(context.value().synchronize().ok());
        ASSERT_EQ(cudaGraphLaunch(graph, stream.get()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess) << test_name(kernel);
        EXPECT_EQ(product.result(), expected)
            << test_name(kernel) << ": " << m << " x " << n << " x " << k << ", launch " << launch;
      }
      EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
      ++replayed;
    }
    EXPECT_GT(replayed, 0) << test_name(kernel) << " took none of the products";
  }
}

}  // namespace
}  // namespace exactile::test
