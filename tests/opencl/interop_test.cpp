// SPDX-License-Identifier: Apache-2.0
// Queues, buffers, events and sub-devices that a caller brings.
#include "exactile/interop/opencl.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "exactile/exactile.hpp"

namespace exactile::test {
namespace {

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* thing) const {
    Release(thing);
  }
};
template <class Handle, auto Release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<Release>>;
using OwnedContext = Owned<cl_context, clReleaseContext>;
using OwnedQueue = Owned<cl_command_queue, clReleaseCommandQueue>;
using OwnedBuffer = Owned<cl_mem, clReleaseMemObject>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;

/// The first device of the first platform that has one; null where there is none.
cl_device_id any_device() {
  std::array<cl_platform_id, 8> platforms{};
  cl_uint count = 0;
  if (clGetPlatformIDs(platforms.size(), platforms.data(), &count) != CL_SUCCESS) return nullptr;
  for (cl_uint i = 0; i < std::min<cl_uint>(count, platforms.size()); ++i) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) return device;
  }
  return nullptr;
}

#define SKIP_WITHOUT_DEVICE() \
  if (any_device() == nullptr) GTEST_SKIP() << "no device: OpenCL finds none"

/// A caller with a context and an in-order queue of its own.
struct Caller {
  OwnedContext context;
  OwnedQueue queue;

  explicit Caller(cl_device_id device) {
    cl_int error = CL_SUCCESS;
    context.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error));
    EXPECT_EQ(error, CL_SUCCESS);
    queue = another_queue(device);
  }
  [[nodiscard]] OwnedQueue another_queue(cl_device_id device) const {
    cl_int error = CL_SUCCESS;
    OwnedQueue made(clCreateCommandQueue(context.get(), device, 0, &error));
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  [[nodiscard]] OwnedBuffer buffer(const std::vector<float>& from) const {
    cl_int error = CL_SUCCESS;
    OwnedBuffer made(clCreateBuffer(context.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                    from.size() * sizeof(float), const_cast<float*>(from.data()), &error));
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
};

/// C = A B of whole numbers, so that any order of summation gives the same bits. C lies behind `offset` elements that
/// nobody may touch.
class Product {
 public:
  static constexpr std::int64_t m = 61;
  static constexpr std::int64_t n = 83;
  static constexpr std::int64_t k = 47;
  static constexpr std::int64_t offset = 5;
  static constexpr float untouched = -7.5F;

  Product(const Caller& caller, unsigned seed)
      : a_(m * k), b_(k * n), c_(m * n + offset, untouched), plan_(Plan::make(description(), options())) {
    EXPECT_TRUE(plan_.ok()) << plan_.status().message();
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> whole(-9, 9);
    for (float& x : a_) x = static_cast<float>(whole(generator));
    for (float& x : b_) x = static_cast<float>(whole(generator));
    buffers_ = {caller.buffer(a_), caller.buffer(b_), caller.buffer(c_)};
    spans_ = {opencl::BufferSpan{buffers_[0].get()}, opencl::BufferSpan{buffers_[1].get()},
              opencl::BufferSpan{buffers_[2].get(), offset * static_cast<std::int64_t>(sizeof(float))}};
  }
  [[nodiscard]] const Plan& plan() const { return plan_.value(); }
  [[nodiscard]] opencl::BufferArguments arguments() const {
    return {.a = &spans_[0], .b = &spans_[1], .c = &spans_[2]};
  }

  /// C as it is now, read on `queue` after all that was enqueued there.
  [[nodiscard]] std::vector<float> c(cl_command_queue queue) const {
    std::vector<float> read(c_.size());
    EXPECT_EQ(clEnqueueReadBuffer(queue, buffers_[2].get(), CL_TRUE, 0, read.size() * sizeof(float), read.data(), 0,
                                  nullptr, nullptr),
              CL_SUCCESS);
    return read;
  }
  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> product = c_;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += a_[at(i * k + p)] * b_[at(p * n + j)];
        product[at(offset + i * n + j)] = sum;
      }
    return product;
  }
  [[nodiscard]] const std::vector<float>& c_before() const { return c_; }

 private:
  [[nodiscard]] static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] static GemmDescription description() {
    return {
        .types = {ElementType::f32, ElementType::f32}, .m = m, .n = n, .k = k, .a = {k, 1}, .b = {n, 1}, .c = {n, 1}};
  }
  [[nodiscard]] static GemmOptions options() { return {.kernel = "opencl_packed", .memory = Memory::device}; }

  std::vector<float> a_, b_, c_;
  Result<Plan> plan_;
  std::array<OwnedBuffer, 3> buffers_;
  std::array<opencl::BufferSpan, 3> spans_;
};

TEST(Interop, BuffersAndQueueOfTheCallers) {
  SKIP_WITHOUT_DEVICE();
  const Caller caller(any_device());
  Product product(caller, 1);
  const Status status = product.plan().run(product.arguments(), interop::on(caller.queue.get()));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(product.c(caller.queue.get()), product.expected());
}

TEST(Interop, ARunWaitsForItsEventsAndCompletesItsOwn) {
  SKIP_WITHOUT_DEVICE();
  const Caller caller(any_device());
  const OwnedQueue bystander = caller.another_queue(any_device());
  Product product(caller, 2);
  cl_int error = CL_SUCCESS;
  const OwnedEvent gate(clCreateUserEvent(caller.context.get(), &error));
  ASSERT_EQ(error, CL_SUCCESS);
  cl_event raw = nullptr;
  const Status status =
      interop::run(product.plan(), product.arguments(), caller.queue.get(), std::array{gate.get()}, &raw);
  const OwnedEvent done(raw);
  // Whatever fails below, the gate must open, or the queue could never be released.
  const std::vector<float> before = product.c(bystander.get());
  cl_int state = CL_COMPLETE;
  if (raw != nullptr) clGetEventInfo(raw, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  EXPECT_EQ(clSetUserEventStatus(gate.get(), CL_COMPLETE), CL_SUCCESS);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_NE(raw, nullptr);
  EXPECT_GT(state, CL_COMPLETE) << "complete before what it waits for";
  EXPECT_EQ(before, product.c_before()) << "C was written before the event";
  EXPECT_EQ(clWaitForEvents(1, &raw), CL_SUCCESS);
  EXPECT_EQ(product.c(bystander.get()), product.expected());
}

TEST(Interop, QueuesOfOneContextDoNotDisturbEachOther) {
  SKIP_WITHOUT_DEVICE();
  const Caller caller(any_device());
  const OwnedQueue other = caller.another_queue(any_device());
  std::vector<std::unique_ptr<Product>> products;
  for (unsigned seed = 0; seed < 6; ++seed) products.push_back(std::make_unique<Product>(caller, seed));
  const auto queue_of = [&](std::size_t i) { return i % 2 == 0 ? caller.queue.get() : other.get(); };
  for (std::size_t i = 0; i < products.size(); ++i)
    ASSERT_TRUE(products[i]->plan().run(products[i]->arguments(), interop::on(queue_of(i))).ok());
  for (std::size_t i = 0; i < products.size(); ++i)
    EXPECT_EQ(products[i]->c(queue_of(i)), products[i]->expected()) << "product " << i;
}

TEST(Interop, ASubDeviceComputes) {
  SKIP_WITHOUT_DEVICE();
  const std::array<cl_device_partition_property, 3> one_unit_each{CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  std::array<cl_device_id, 64> parts{};
  cl_uint count = 0;
  if (clCreateSubDevices(any_device(), one_unit_each.data(), parts.size(), parts.data(), &count) != CL_SUCCESS ||
      count == 0)
    GTEST_SKIP() << "the device cannot be partitioned";
  {
    const Caller caller(parts[0]);
    Product product(caller, 3);
    const Status status = product.plan().run(product.arguments(), interop::on(caller.queue.get()));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(product.c(caller.queue.get()), product.expected());
  }
  for (cl_uint i = 0; i < count; ++i) clReleaseDevice(parts[i]);
}

TEST(Limits, ABufferTooLargeIsRefusedWithItsSizeAndTheLimit) {
  SKIP_WITHOUT_DEVICE();
  const Result<Context> context = Context::make(Backend::opencl);
  ASSERT_TRUE(context.ok()) << context.status().message();
  cl_ulong limit = 0;
  cl_device_id device = nullptr;
  auto* queue = static_cast<cl_command_queue>(context.value().execution().queue);
  ASSERT_EQ(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, static_cast<void*>(&device), nullptr),
            CL_SUCCESS);
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof limit, &limit, nullptr), CL_SUCCESS);
  const Status status = context.value().allocate(static_cast<std::int64_t>(limit) + 1).status();
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  for (const cl_ulong number : {limit, limit + 1})
    EXPECT_NE(status.message().find(std::to_string(number)), std::string::npos) << status.message();
}

}  // namespace
}  // namespace exactile::test
