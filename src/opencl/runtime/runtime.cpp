// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "opencl/kernel_sources.hpp"
#include "opencl/runtime/program_cache.hpp"

namespace exactile::opencl {
namespace {

/// Idle scratch buffers that are kept; more of them are given back to the device.
constexpr std::size_t most_idle_scratch = 4;

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Runtime>> runtimes;
};

Registry& registry() {
  static auto* const all = new Registry;  // outlives everything, see Runtime::of()
  return *all;
}

/// Everything that decides what the compiler makes.
std::string program_key(const Device& device, std::string_view source, const std::string& options) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}{}", device.platform_name, device.name, device.driver, device.version,
                     options, element_cl, source);
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t bytes = 0;
  if (api()->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::string log(bytes, '\0');
  if (api()->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr) != CL_SUCCESS)
    return {};
  constexpr std::size_t enough = 2000;
  return log.substr(0, std::min(log.find('\0'), enough));
}

std::string binary_of(cl_program program) {
  std::size_t bytes = 0;
  if (api()->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return {};
  std::string binary(bytes, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (api()->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS) return {};
  return binary;
}

/// The program of a stored binary, or null: the driver may refuse what another version of it wrote.
cl_program from_binary(cl_context context, cl_device_id device, const std::string& binary, const std::string& options) {
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t bytes = binary.size();
  cl_int error = CL_SUCCESS;
  cl_program program = api()->clCreateProgramWithBinary(context, 1, &device, &bytes, &data, nullptr, &error);
  if (error != CL_SUCCESS) return nullptr;
  if (api()->clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS) return program;
  api()->clReleaseProgram(program);
  return nullptr;
}

}  // namespace

// --- Program
// ----------------------------------------------------------------------------------------------------------

Result<Loan<Program, cl_kernel>> Program::kernel() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      cl_kernel kernel = idle_.back();
      idle_.pop_back();
      return Loan<Program, cl_kernel>(this, kernel);
    }
  }
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = api()->clCreateKernel(program_, function_.c_str(), &error);
  if (Status s = check(error, "clCreateKernel", function_); !s.ok()) return s;
  return Loan<Program, cl_kernel>(this, kernel);
}

void Program::take_back(cl_kernel kernel) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(kernel);
}

// --- Runtime
// ----------------------------------------------------------------------------------------------------------

Result<Runtime*> Runtime::of(int index) {
  if (const auto reason = why_no_device(index); !reason.empty())
    return Status(StatusCode::device_unavailable, std::string(reason));
  const Device& device = all_devices()[static_cast<std::size_t>(index)];
  const std::lock_guard lock(registry().mutex);
  for (const auto& runtime : registry().runtimes)
    if (runtime->is_own_ && runtime->device_.id == device.id) return runtime.get();
  const std::array<cl_context_properties, 3> properties{CL_CONTEXT_PLATFORM,
                                                        reinterpret_cast<cl_context_properties>(device.platform), 0};
  cl_int error = CL_SUCCESS;
  cl_context context = api()->clCreateContext(properties.data(), 1, &device.id, nullptr, nullptr, &error);
  if (Status s = check(error, "clCreateContext", device.name); !s.ok()) return s;
  registry().runtimes.push_back(std::unique_ptr<Runtime>(new Runtime(device, context, true)));
  return registry().runtimes.back().get();
}

bool Runtime::is_ready(int index) {
  const Device& device = all_devices()[static_cast<std::size_t>(index)];
  const std::lock_guard lock(registry().mutex);
  return std::ranges::any_of(registry().runtimes,
                             [&](const auto& runtime) { return runtime->is_own_ && runtime->device_.id == device.id; });
}

Result<Runtime*> Runtime::of(cl_command_queue queue) {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_int error =
      api()->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, static_cast<void*>(&context), nullptr);
  if (error == CL_SUCCESS)
    error = api()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, static_cast<void*>(&device), nullptr);
  if (Status s = check(error, "clGetCommandQueueInfo"); !s.ok()) return s;
  const std::lock_guard lock(registry().mutex);
  for (const auto& runtime : registry().runtimes)
    if (runtime->context_ == context && runtime->device_.id == device) return runtime.get();
  if (Status s = check(api()->clRetainContext(context), "clRetainContext"); !s.ok()) return s;
  registry().runtimes.push_back(std::unique_ptr<Runtime>(new Runtime(describe_device(device), context, false)));
  return registry().runtimes.back().get();
}

Result<Program*> Runtime::program(std::string_view source, const std::string& function, const std::string& options) {
  const std::lock_guard lock(mutex_);
  for (const Built& built : programs_)
    if (built.source == source.data() && built.options == options) return built.program.get();
  Result<cl_program> program = build(source, options);
  if (!program.ok()) return program.status();
  programs_.push_back({source.data(), options, std::make_unique<Program>(program.value(), function)});
  return programs_.back().program.get();
}

Result<cl_program> Runtime::build(std::string_view source, const std::string& options) {
  const std::string key = program_key(device_, source, options);
  if (const auto binary = load_binary(key))
    if (cl_program program = from_binary(context_, device_.id, *binary, options)) return program;
  std::array<const char*, 2> texts{element_cl.data(), source.data()};
  const std::array<std::size_t, 2> lengths{element_cl.size(), source.size()};
  cl_int error = CL_SUCCESS;
  cl_program program = api()->clCreateProgramWithSource(context_, 2, texts.data(), lengths.data(), &error);
  if (Status s = check(error, "clCreateProgramWithSource"); !s.ok()) return s;
  error = api()->clBuildProgram(program, 1, &device_.id, options.c_str(), nullptr, nullptr);
  if (error != CL_SUCCESS) {
    Status failed(StatusCode::device_failure, fmt::format("clBuildProgram ({}) for {}: {}\n{}", options, device_.name,
                                                          error_name(error), build_log(program, device_.id)));
    api()->clReleaseProgram(program);
    return failed;
  }
  store_binary(key, binary_of(program));
  return program;
}

Result<cl_command_queue> Runtime::make_queue() {
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = api()->clCreateCommandQueue(context_, device_.id, CL_QUEUE_PROFILING_ENABLE, &error);
  if (Status s = check(error, "clCreateCommandQueue", device_.name); !s.ok()) return s;
  return queue;
}

Result<Loan<Runtime, cl_command_queue>> Runtime::queue() {
  {
    const std::lock_guard lock(mutex_);
    if (!queues_.empty()) {
      cl_command_queue queue = queues_.back();
      queues_.pop_back();
      return Loan<Runtime, cl_command_queue>(this, queue);
    }
  }
  Result<cl_command_queue> made = make_queue();
  if (!made.ok()) return made.status();
  return Loan<Runtime, cl_command_queue>(this, made.value());
}

Result<cl_command_queue> Runtime::default_queue() {
  const std::lock_guard lock(mutex_);
  if (default_queue_ == nullptr) {
    Result<cl_command_queue> made = make_queue();
    if (!made.ok()) return made.status();
    default_queue_ = made.value();
  }
  return default_queue_;
}

void Runtime::take_back(cl_command_queue queue) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(queue);
}

Result<cl_mem> Runtime::make_buffer(std::int64_t bytes, cl_mem_flags flags, void* host, std::string_view what) {
  if (bytes > device_.max_buffer_bytes)
    return Status(StatusCode::out_of_memory, fmt::format("{} takes {} bytes: the limit of one buffer on {} is {} bytes",
                                                         what, bytes, device_.name, device_.max_buffer_bytes));
  cl_int error = CL_SUCCESS;
  cl_mem memory = api()->clCreateBuffer(context_, flags, static_cast<std::size_t>(bytes), host, &error);
  if (error != CL_SUCCESS)
    return check(error, "clCreateBuffer",
                 fmt::format("{} ({} bytes; {} has {} bytes)", what, bytes, device_.name, device_.memory_bytes));
  return memory;
}

Result<Loan<Runtime, Scratch>> Runtime::scratch(std::int64_t bytes, cl_command_queue queue) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Scratch& s) {
      return s.bytes >= bytes && s.bytes / 4 <= bytes && (s.user == nullptr || s.user == queue);
    };
    if (const auto found = std::ranges::find_if(scratch_, fits); found != scratch_.end()) {
      Scratch scratch = *found;
      scratch.user = queue;
      scratch_.erase(found);
      return Loan<Runtime, Scratch>(this, scratch);
    }
  }
  Result<cl_mem> memory = make_buffer(bytes, CL_MEM_READ_WRITE, nullptr, "scratch memory");
  if (!memory.ok()) return memory.status();
  return Loan<Runtime, Scratch>(this, Scratch{memory.value(), bytes, queue});
}

void Runtime::finished(cl_command_queue queue) {
  const std::lock_guard lock(mutex_);
  for (Scratch& scratch : scratch_)
    if (scratch.user == queue) scratch.user = nullptr;
}

void Runtime::take_back(const Scratch& scratch) {
  Scratch surplus;
  {
    const std::lock_guard lock(mutex_);
    scratch_.push_back(scratch);
    if (scratch_.size() > most_idle_scratch) {
      surplus = scratch_.front();
      scratch_.erase(scratch_.begin());
    }
  }
  // The driver keeps it until the work that uses it is done.
  if (surplus.memory != nullptr) api()->clReleaseMemObject(surplus.memory);
}

}  // namespace exactile::opencl
