// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a product is computed whose operands lie in host memory and whose caller names no backend: on the processor,
/// or on a device that has memory of its own. See docs/adr/0024-the-default-considers-every-device.md.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plan/host_link.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::plan {

/// What must be known of a backend's devices before a product whose caller names none may go there: its operands lie in
/// host memory. Functions are asked in processes that have opened the driver, but for why_absent() and opened_by().
struct Offload {
  const BackendEntry* backend;
  double context_seconds = 0;    ///< what opening the driver and making a device ready costs, roughly
  bool overlaps_copies = false;  ///< KernelEntry::cost includes copies, and both happen at once; else neither
  /// Why there can be no such device here, as far as can be told without its driver; empty if there may be.
  std::string_view (*why_absent)();
  /// What is left of context_seconds: 0 where the device is ready.
  double (*first_use_seconds)(int device);
  /// Why the device computes only for who names it; empty if for anybody.
  std::string_view (*only_by_name)(int device);
  /// Whether the device copies from and to this memory by itself. Asked where the device is ready.
  bool (*is_pinned)(const void* memory, std::int64_t bytes, int device);
  /// The process that has opened the driver, for whatever reason; 0: none has.
  int (*opened_by)() = [] { return 0; };
  /// Of a device that has a kernel for the product.
  HostLink (*link)(int device) = [](int) { return HostLink(); };
};

/// What a product would have used, had earlier products lost as much without it as it costs.
struct FirstUse {
  const Offload* offload = nullptr;  ///< null: none
  int device = 0;
  bool is_of_device = false;  ///< of the device itself, whose driver is open; else of the driver
  double seconds = 0;         ///< what each run of the product loses meanwhile
};

/// What a process has found out about its devices, and what it would have gained by them. All calls are thread-safe.
class DeviceLedger {
 public:
  /// To be asked once for each run. Whether somebody has begun with it, or products have by now lost what it costs.
  [[nodiscard]] bool may_begin(const FirstUse& use);
  /// Why no product goes to the backend's devices of itself any more; empty if they may. The driver of a parent process
  /// cannot be used, and a device that has failed is not tried again.
  [[nodiscard]] std::string why_left_alone(const Offload& offload);
  /// A product that went there failed, and was computed on the processor.
  void failed(const Offload& offload, const Status& status);
  /// The last such sentence; empty if there was none.
  [[nodiscard]] std::string last_failure(const Offload& offload);

 private:
  struct Account {
    double lost_unopened = 0;  ///< seconds, while the driver was not open
    double lost_unready = 0;
    bool is_broken = false;
    std::string failure;
  };
  std::mutex mutex_;
  std::map<const BackendEntry*, Account> accounts_;
};

/// What became of one backend.
struct DeviceVerdict {
  const BackendEntry* backend = nullptr;
  const KernelEntry* kernel = nullptr;  ///< its best; null where it was not asked, or has none for the product
  double seconds = 0;                   ///< of the kernel, with copies from and to pageable memory
  std::string reason = {};
};

struct DeviceChoice {
  const Offload* offload = nullptr;  ///< of the backend whose device computes; null: none does
  const KernelEntry* kernel = nullptr;
  int device = 0;               ///< the index that was considered, of each backend
  bool only_if_pinned = false;  ///< the device is worth it for operands in pinned memory alone
  FirstUse awaited = {};        ///< the product is to be judged anew once it may begin
  std::vector<DeviceVerdict> verdicts = {};
};

/// Compares the processor's kernel with each backend's best, copies and first use included, up to the first backend
/// that has a kernel for the product or may have one: a GPU that two backends reach is opened by one of them. `problem`
/// and `options` are those the processor's kernel was chosen by; `device` is the index of the device to consider.
[[nodiscard]] DeviceChoice choose_device(std::span<const Offload* const> offloads, const Problem& problem,
                                         const GemmOptions& options, const KernelEntry& here, int device,
                                         DeviceLedger& ledger);

/// The same problem and options where the backend is named.
[[nodiscard]] Problem on_device_of(const Problem& problem, int device);
[[nodiscard]] GemmOptions naming(const GemmOptions& options, Backend backend, int device);

}  // namespace exactile::plan
