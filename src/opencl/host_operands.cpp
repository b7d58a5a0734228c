// SPDX-License-Identifier: Apache-2.0
#include "opencl/host_operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plan/overlap.hpp"

namespace exactile::opencl {
namespace {

/// Which way the elements of a line follow each other in host memory.
enum class Order : std::uint8_t { rows, columns, scattered };

Order order_of(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  if (layout.column_stride == 1 && layout.row_stride >= columns) return Order::rows;
  if (layout.row_stride == 1 && layout.column_stride >= rows) return Order::columns;
  return Order::scattered;
}

using Rectangle = std::array<std::size_t, 3>;

}  // namespace

OperandLayout copied_layout(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  const bool is_shared = !layout.pointer_array && layout.batch_stride == 0;
  const std::int64_t batch_stride = is_shared ? 0 : rows * columns;
  if (order_of(layout, rows, columns) == Order::columns) return {1, rows, batch_stride, false, layout.conjugate};
  return {columns, 1, batch_stride, false, layout.conjugate};
}

// --- in place
// ---------------------------------------------------------------------------------------------------------

Status InPlaceOperands::map(std::span<const HostOperand> operands, std::int64_t batch_count) {
  for (const HostOperand& o : operands) {
    if (o.data == nullptr) continue;
    const plan::Hull hull = plan::footprint(o.layout, o.rows, o.columns, batch_count, o.type).hull;
    const auto* first = static_cast<const char*>(o.data);
    regions_.push_back({first + hull.low, first + hull.high});
  }
  std::ranges::sort(regions_, {}, &Region::begin);
  std::vector<Region> merged;
  for (const Region& region : regions_) {
    if (!merged.empty() && region.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, region.end);
    else
      merged.push_back(region);
  }
  regions_ = std::move(merged);
  for (Region& region : regions_) {
    Result<cl_mem> memory = runtime_.make_buffer(region.end - region.begin, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                                 const_cast<char*>(region.begin), "an operand");
    if (!memory.ok()) return memory.status();
    region.memory = memory.value();
  }
  for (const HostOperand& o : operands) {
    const auto* first = static_cast<const char*>(o.data);
    const auto holds = [&](const Region& r) { return first >= r.begin && first < r.end; };
    const auto region = std::ranges::find_if(regions_, holds);
    spans_.push_back(region == regions_.end() ? BufferSpan{} : BufferSpan{region->memory, first - region->begin});
  }
  return {};
}

Status InPlaceOperands::show(cl_command_queue queue, std::size_t operand) const {
  for (const Region& region : regions_) {
    if (region.memory != spans_[operand].memory) continue;
    cl_int error = CL_SUCCESS;
    void* mapped =
        api()->clEnqueueMapBuffer(queue, region.memory, CL_TRUE, CL_MAP_READ, 0,
                                  static_cast<std::size_t>(region.end - region.begin), 0, nullptr, nullptr, &error);
    if (Status s = check(error, "clEnqueueMapBuffer"); !s.ok()) return s;
    error = api()->clEnqueueUnmapMemObject(queue, region.memory, mapped, 0, nullptr, nullptr);
    if (Status s = check(error, "clEnqueueUnmapMemObject"); !s.ok()) return s;
  }
  return check(api()->clFinish(queue), "clFinish");
}

InPlaceOperands::~InPlaceOperands() {
  for (const Region& region : regions_)
    if (region.memory != nullptr) api()->clReleaseMemObject(region.memory);
}

// --- copied
// -----------------------------------------------------------------------------------------------------------

CopiedOperand::~CopiedOperand() {
  if (memory_ != nullptr) api()->clReleaseMemObject(memory_);
}

std::int64_t CopiedOperand::copies() const {
  return !operand_.layout.pointer_array && operand_.layout.batch_stride == 0 ? 1 : count_;
}

char* CopiedOperand::host_matrix(std::int64_t product) const {
  if (operand_.layout.pointer_array) return static_cast<char**>(operand_.data)[product];
  return static_cast<char*>(operand_.data) + product * operand_.layout.batch_stride * size_in_bytes(operand_.type);
}

Status CopiedOperand::allocate(std::string_view name) {
  const std::int64_t bytes = operand_.rows * operand_.columns * copies() * size_in_bytes(operand_.type);
  Result<cl_mem> memory = runtime_.make_buffer(bytes, CL_MEM_READ_WRITE, nullptr, name);
  if (!memory.ok()) return memory.status();
  memory_ = memory.value();
  return {};
}

/// Calls move_rectangle(product, host pointer, lines, bytes of a line, host bytes from line to line) for every matrix;
/// lines are dense in device memory.
template <class Rect>
Status CopiedOperand::each_matrix(cl_command_queue queue, const Rect& move_rectangle) const {
  const HostOperand& o = operand_;
  const std::int64_t size = size_in_bytes(o.type);
  const bool by_columns = order_of(o.layout, o.rows, o.columns) == Order::columns;
  const std::int64_t lines = by_columns ? o.columns : o.rows;
  const std::int64_t line = (by_columns ? o.rows : o.columns) * size;
  const std::int64_t step = (by_columns ? o.layout.column_stride : o.layout.row_stride) * size;
  for (std::int64_t p = 0; p < copies(); ++p)
    if (Status s = move_rectangle(p, host_matrix(p), lines, line, step); !s.ok()) return s;
  return check(api()->clFinish(queue), "clFinish");
}

Status CopiedOperand::upload(cl_command_queue queue) const {
  const HostOperand& o = operand_;
  const std::int64_t size = size_in_bytes(o.type);
  const bool scattered = order_of(o.layout, o.rows, o.columns) == Order::scattered;
  return each_matrix(
      queue, [&](std::int64_t p, const char* host, std::int64_t lines, std::int64_t line, std::int64_t step) {
        std::vector<char> gathered;
        if (scattered) {
          gathered.resize(static_cast<std::size_t>(o.rows * o.columns * size));
          for (std::int64_t i = 0; i < o.rows; ++i)
            for (std::int64_t j = 0; j < o.columns; ++j)
              std::memcpy(gathered.data() + (i * o.columns + j) * size,
                          host + (i * o.layout.row_stride + j * o.layout.column_stride) * size,
                          static_cast<std::size_t>(size));
        }
        const auto bytes = static_cast<std::size_t>(line);
        const Rectangle device_origin{0, 0, static_cast<std::size_t>(p)};
        const Rectangle host_origin{0, 0, 0};
        const Rectangle region{bytes, static_cast<std::size_t>(lines), 1};
        // What was gathered here must not go before it is read.
        return check(api()->clEnqueueWriteBufferRect(
                         queue, memory_, scattered ? CL_TRUE : CL_FALSE, device_origin.data(), host_origin.data(),
                         region.data(), bytes, bytes * region[1], scattered ? bytes : static_cast<std::size_t>(step), 0,
                         scattered ? gathered.data() : host, 0, nullptr, nullptr),
                     "clEnqueueWriteBufferRect");
      });
}

Status CopiedOperand::download(cl_command_queue queue) const {
  const HostOperand& o = operand_;
  const std::int64_t size = size_in_bytes(o.type);
  const bool scattered = order_of(o.layout, o.rows, o.columns) == Order::scattered;
  return each_matrix(queue, [&](std::int64_t p, char* host, std::int64_t lines, std::int64_t line, std::int64_t step) {
    std::vector<char> dense(static_cast<std::size_t>(scattered ? o.rows * o.columns * size : 0));
    const auto bytes = static_cast<std::size_t>(line);
    const Rectangle device_origin{0, 0, static_cast<std::size_t>(p)};
    const Rectangle host_origin{0, 0, 0};
    const Rectangle region{bytes, static_cast<std::size_t>(lines), 1};
    Status s = check(api()->clEnqueueReadBufferRect(
                         queue, memory_, scattered ? CL_TRUE : CL_FALSE, device_origin.data(), host_origin.data(),
                         region.data(), bytes, bytes * region[1], scattered ? bytes : static_cast<std::size_t>(step), 0,
                         scattered ? dense.data() : host, 0, nullptr, nullptr),
                     "clEnqueueReadBufferRect");
    if (!scattered || !s.ok()) return s;
    for (std::int64_t i = 0; i < o.rows; ++i)
      for (std::int64_t j = 0; j < o.columns; ++j)
        std::memcpy(host + (i * o.layout.row_stride + j * o.layout.column_stride) * size,
                    dense.data() + (i * o.columns + j) * size, static_cast<std::size_t>(size));
    return s;
  });
}

}  // namespace exactile::opencl
