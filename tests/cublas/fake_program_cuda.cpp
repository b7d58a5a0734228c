// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 whose device memory is the host's: it prints what is allocated, freed, waited for and recorded.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

CUresult say(const char* what, CUstream stream) {
  std::printf("%s stream=%llx\n", what, static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream)));
  std::fflush(stdout);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

int fake_capture = CU_STREAM_CAPTURE_STATUS_NONE;
int fake_capture_result = CUDA_SUCCESS;
long long fake_free_bytes = 1LL << 40;

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = static_cast<CUstreamCaptureStatus>(fake_capture);
  return static_cast<CUresult>(fake_capture_result);
}
CUresult cuMemAllocAsync(CUdeviceptr* memory, std::size_t bytes, CUstream stream) {
  if (static_cast<long long>(bytes) > fake_free_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, bytes));
  return say("allocate", stream);
}
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  std::free(reinterpret_cast<void*>(memory));
  return say("free", stream);
}
CUresult cuMemFree_v2(CUdeviceptr memory) {
  std::free(reinterpret_cast<void*>(memory));
  return say("free at the end", nullptr);
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = static_cast<CUevent>(std::malloc(1));
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream stream) { return say("record", stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent, unsigned) { return say("wait", stream); }
CUresult cuEventDestroy_v2(CUevent event) {
  std::free(event);
  return CUDA_SUCCESS;
}

}  // extern "C"
