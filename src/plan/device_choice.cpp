// SPDX-License-Identifier: Apache-2.0
#include "plan/device_choice.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "plan/select.hpp"

namespace exactile::plan {

bool DeviceLedger::may_begin(const FirstUse& use) {
  const Offload& offload = *use.offload;
  const double price = use.is_of_device ? offload.first_use_seconds(use.device) : offload.context_seconds;
  if (use.is_of_device ? price == 0 : offload.opened_by() != 0) return true;
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[offload.backend];
  double& lost = use.is_of_device ? account.lost_unready : account.lost_unopened;
  lost += use.seconds;
  return lost >= price;
}

std::string DeviceLedger::why_left_alone(const Offload& offload) {
  const std::lock_guard lock(mutex_);
  const Account& account = accounts_[offload.backend];
  if (account.is_broken) return fmt::format("is left alone since it failed: {}", account.failure);
  if (const int by = offload.opened_by(); by == 0 || by == getpid()) return {};
  return "cannot be used in a process that was forked from one that had opened its driver";
}

void DeviceLedger::failed(const Offload& offload, const Status& status) {
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[offload.backend];
  account.failure = status.message();
  // A full device may have room later.
  if (status.code() == StatusCode::device_failure || status.code() == StatusCode::device_unavailable)
    account.is_broken = true;
}

std::string DeviceLedger::last_failure(const Offload& offload) {
  const std::lock_guard lock(mutex_);
  return accounts_[offload.backend].failure;
}

namespace {

std::string duration(double seconds) {
  if (seconds >= 0.1) return fmt::format("{:.2g} s", seconds);
  return seconds >= 1e-4 ? fmt::format("{:.2g} ms", seconds * 1e3) : fmt::format("{:.2g} us", seconds * 1e6);
}

/// What moving each operand once costs at least, launch included.
double least_copies(const Traffic& traffic, const HostLink& link) {
  return link.round_trip_seconds + std::max(traffic.in, traffic.out) / link.bytes_per_second;
}

/// What copying through pinned rings costs the processor.
double ring_copies(const Traffic& traffic, const HostLink& link, int threads) {
  const double bytes = traffic.in + traffic.out;
  const double helping = std::clamp(bytes / bytes_worth_a_copy_thread, 1.0, static_cast<double>(threads));
  return bytes / (link.copy_bytes_per_second * helping);
}

/// One product against one backend.
class Comparison {
 public:
  Comparison(const Problem& problem, const GemmOptions& options, double here, int device, DeviceLedger& ledger)
      : problem_(on_device_of(problem, device)),
        options_(options),
        here_(here),
        ledger_(ledger),
        traffic_(least_traffic(problem.description)) {}

  void judge(const Offload& offload, DeviceChoice& choice) {
    DeviceVerdict verdict{.backend = offload.backend};
    if (first_ == nullptr)
      verdict.reason = judge(offload, verdict, choice);
    else
      verdict.reason = fmt::format("not asked: a device of {} comes before its", to_string(first_->backend));
    if (verdict.kernel != nullptr || choice.awaited.offload == &offload) first_ = offload.backend;
    choice.verdicts.push_back(std::move(verdict));
  }

 private:
  /// Answers the reason, for or against.
  std::string judge(const Offload& offload, DeviceVerdict& verdict, DeviceChoice& choice) {
    if (problem_.reproducible && is_floating(problem_.description.types.input))
      return "not asked: its bits are others than the processor's (reproducible)";
    const double floor = least_copies(traffic_, {});
    if (here_ <= floor)
      return fmt::format("not asked: the processor takes an estimated {}, copies alone {}", duration(here_),
                         duration(floor));
    if (const auto why = offload.why_absent(); !why.empty()) return std::string(why);
    if (std::string why = ledger_.why_left_alone(offload); !why.empty()) return why;
    if (waits({.offload = &offload, .device = problem_.device, .seconds = here_ - floor}, choice))
      return fmt::format("not asked yet: the processor takes an estimated {}, a device's first use some {}",
                         duration(here_), duration(offload.context_seconds));
    if (std::string why = find_kernel(offload, verdict); !why.empty()) return why;
    return compare(offload, verdict, choice);
  }

  bool waits(const FirstUse& use, DeviceChoice& choice) const {
    if (ledger_.may_begin(use)) return false;
    choice.awaited = use;
    return true;
  }

  std::string find_kernel(const Offload& offload, DeviceVerdict& verdict) const {
    const std::array one{offload.backend};
    const auto kernel = select(one, problem_, naming(options_, offload.backend->backend, problem_.device));
    if (!kernel.ok()) return std::string(kernel.status().message());
    if (const auto why = offload.only_by_name(problem_.device); !why.empty()) return std::string(why);
    verdict.kernel = kernel.value();
    return {};
  }

  std::string compare(const Offload& offload, DeviceVerdict& verdict, DeviceChoice& choice) {
    const double kernel = verdict.kernel->cost(problem_);
    const HostLink link = offload.link(problem_.device);
    const double floor = least_copies(traffic_, link);
    const double pinned = offload.overlaps_copies ? std::max(kernel, floor) : kernel + floor;
    verdict.seconds = std::max(pinned, ring_copies(traffic_, link, problem_.threads));
    const double first_use = offload.first_use_seconds(problem_.device);
    const std::string times =
        fmt::format("an estimated {} with copies, the processor {}", duration(verdict.seconds), duration(here_));
    if (verdict.seconds >= here_) {
      if (pinned >= here_ || first_use > 0) return fmt::format("lost: takes {}", times);
      take(offload, verdict, true, choice);
      return fmt::format("takes {}, and {} where all operands are in pinned memory: taken then", times,
                         duration(pinned));
    }
    if (first_use > 0 && waits({&offload, problem_.device, true, here_ - verdict.seconds}, choice))
      return fmt::format("not yet: takes {}, but its first use some {}", times, duration(first_use));
    take(offload, verdict, false, choice);
    return fmt::format("takes {}", times);
  }

  static void take(const Offload& offload, const DeviceVerdict& verdict, bool only_if_pinned, DeviceChoice& choice) {
    choice.offload = &offload;
    choice.kernel = verdict.kernel;
    choice.only_if_pinned = only_if_pinned;
  }

  Problem problem_;
  const GemmOptions& options_;
  double here_;
  DeviceLedger& ledger_;
  Traffic traffic_;
  const BackendEntry* first_ = nullptr;  ///< that has a kernel for the product, or may have one
};

}  // namespace

Problem on_device_of(const Problem& problem, int device) {
  Problem there = problem;
  there.device = device;
  return there;
}

GemmOptions naming(const GemmOptions& options, Backend backend, int device) {
  GemmOptions named = options;
  named.backend = backend;
  named.device = device;
  return named;
}

DeviceChoice choose_device(std::span<const Offload* const> offloads, const Problem& problem, const GemmOptions& options,
                           const KernelEntry& here, int device, DeviceLedger& ledger) {
  DeviceChoice choice{.device = device};
  Comparison comparison(problem, options, here.cost(problem), device, ledger);
  for (const Offload* offload : offloads) comparison.judge(*offload, choice);
  return choice;
}

}  // namespace exactile::plan
