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

/// What a process has found out about its devices, and what it would have gained by them. All calls are thread-safe.
class DeviceLedger {
 public:
  /// A product could have been so much sooner done on a device of the backend. Answers whether the driver may be asked:
  /// it is open, or such products have by now lost as much as a device's first use costs.
  [[nodiscard]] bool may_open(const Offload& offload, double seconds);
  /// The same of a product that the device was asked about, and of the first use itself.
  [[nodiscard]] bool may_make_ready(const Offload& offload, double seconds, double first_use_seconds);
  /// Why no product goes to the backend's devices of itself any more; empty if they may. The driver of a parent process
  /// cannot be used, and a device that has failed is not tried again.
  [[nodiscard]] std::string why_left_alone(const Offload& offload);
  /// A product that went there failed, and was computed on the processor.
  void failed(const Offload& offload, const Status& status);
  /// The last such sentence; empty if there was none.
  [[nodiscard]] std::string last_failure(const Offload& offload);

 private:
  struct Account {
    double lost_unopened = 0;
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
  bool is_final = true;         ///< false: the same product may be judged otherwise the next time
  std::vector<DeviceVerdict> verdicts = {};
};

/// Compares the processor's kernel with each backend's best, copies and first use included. `problem` and `options` are
/// those the processor's kernel was chosen by; `device` is the index of the device to consider.
[[nodiscard]] DeviceChoice choose_device(std::span<const Offload* const> offloads, const Problem& problem,
                                         const GemmOptions& options, const KernelEntry& here, int device,
                                         DeviceLedger& ledger);

/// The same problem and options where the backend is named.
[[nodiscard]] Problem on_device_of(const Problem& problem, int device);
[[nodiscard]] GemmOptions naming(const GemmOptions& options, Backend backend, int device);

}  // namespace exactile::plan
