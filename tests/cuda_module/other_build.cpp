// SPDX-License-Identifier: Apache-2.0
// A module of another build: it reads and sets the two ids, and knows nothing of what follows them.
namespace {

struct Ids {
  const char* library;
  const char* module;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void exactile_cuda_module(Ids* ids) { ids->module = "0.0.9 of old"; }
