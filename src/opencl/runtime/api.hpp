// SPDX-License-Identifier: Apache-2.0
/// \file
/// OpenCL as a table of functions, filled at run time from the ICD loader: the library works, without this backend,
/// where there is none. Everything is OpenCL 1.2.
#pragma once

#include "exactile/interop/opencl.hpp"

#include <string>
#include <string_view>

#include "exactile/status.hpp"

namespace exactile::opencl {

// clang-format off
#define EXACTILE_OPENCL_FUNCTIONS(DO)                                                                                  \
  DO(clGetPlatformIDs) DO(clGetPlatformInfo) DO(clGetDeviceIDs) DO(clGetDeviceInfo)                                    \
  DO(clCreateContext) DO(clRetainContext) DO(clReleaseContext)                                                         \
  DO(clCreateCommandQueue) DO(clGetCommandQueueInfo) DO(clReleaseCommandQueue)                                         \
  DO(clCreateBuffer) DO(clReleaseMemObject) DO(clEnqueueFillBuffer)                                                    \
  DO(clCreateProgramWithSource) DO(clCreateProgramWithBinary) DO(clBuildProgram) DO(clGetProgramInfo)                  \
  DO(clGetProgramBuildInfo) DO(clReleaseProgram)                                                                       \
  DO(clCreateKernel) DO(clReleaseKernel) DO(clSetKernelArg)                                                            \
  DO(clEnqueueNDRangeKernel) DO(clEnqueueReadBuffer) DO(clEnqueueWriteBuffer) DO(clEnqueueReadBufferRect)              \
  DO(clEnqueueWriteBufferRect) DO(clEnqueueMapBuffer) DO(clEnqueueUnmapMemObject)                                      \
  DO(clFlush) DO(clFinish) DO(clEnqueueMarkerWithWaitList) DO(clGetEventProfilingInfo) DO(clReleaseEvent)
// clang-format on

struct Api {
#define EXACTILE_DECLARE(name) decltype(&::name) name = nullptr;
  EXACTILE_OPENCL_FUNCTIONS(EXACTILE_DECLARE)
#undef EXACTILE_DECLARE
};

/// The loader's functions, looked up once: libOpenCL.so.1, or what EXACTILE_OPENCL_LIBRARY names. Null where there is
/// none; why_no_api() then says so.
[[nodiscard]] const Api* api();
[[nodiscard]] std::string_view why_no_api();

/// "CL_OUT_OF_RESOURCES (-5)"
[[nodiscard]] std::string error_name(cl_int error);

/// "clEnqueueNDRangeKernel in opencl_tiled: CL_OUT_OF_RESOURCES (-5)"; ok for CL_SUCCESS. Memory that could not be had
/// becomes StatusCode::out_of_memory, everything else StatusCode::device_failure.
[[nodiscard]] Status check(cl_int error, std::string_view call, std::string_view what = {});

}  // namespace exactile::opencl
