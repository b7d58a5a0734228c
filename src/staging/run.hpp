// SPDX-License-Identifier: Apache-2.0
/// \file
/// One run of a product in tiles: several threads take the tasks in order; queues and events keep the device's side of
/// it apart.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "staging/progress.hpp"
#include "staging/stager.hpp"
#include "staging/tasks.hpp"
#include "staging/tile_kernels.hpp"

namespace exactile::staging {

/// All that a run works on; nothing is allocated any more once bytes move.
struct RunSetup {
  const HostProduct& product;
  const GemmArguments& arguments;
  Tiling tiling;
  Movement movement;
  std::vector<Step> schedule;
  Device& device;
  Stager::LaneLease lane;
  Stager::RingsLease rings = {};  ///< null where nothing goes through them
  TaskList list = {};
  std::vector<const plan::Executable*> kernels = {};  ///< by step

  /// Slots of each side, `per_block` to an allocation.
  struct Slots {
    std::vector<Buffer> blocks;
    std::int64_t slot_bytes = 0;
    std::int64_t per_block = 1;
  };
  std::array<Slots, sides> slots{};
  std::array<Buffer, compute_queues> workspaces{};
};

class Run {
 public:
  /// Takes events from the lane: event_count() must be there.
  explicit Run(const RunSetup& setup);
  [[nodiscard]] static std::size_t event_count(const RunSetup& setup);

  /// Returns when C is written, or when nothing of this run touches host memory any more.
  [[nodiscard]] Status execute(int threads);

 private:
  void work();
  [[nodiscard]] Status perform(const Task& task);
  [[nodiscard]] Status upload(const Task& task);
  [[nodiscard]] Status upload_directly(const Task& task);
  [[nodiscard]] Status upload_through_ring(const Task& task);
  [[nodiscard]] Status open_load(const Task& task);
  [[nodiscard]] Status close_load(const Task& task);
  [[nodiscard]] Status compute(const Task& task);
  [[nodiscard]] Status enqueue_kernel(std::int64_t number);
  [[nodiscard]] Status download(const Task& task);
  [[nodiscard]] Status download_directly(const Task& task);
  [[nodiscard]] Status download_through_ring(const Task& task);
  [[nodiscard]] Status close_download(const Task& task);
  [[nodiscard]] Status drain(const Task& task);
  [[nodiscard]] Status finish();

  [[nodiscard]] const Step& step(std::int64_t number) const {
    return setup_.schedule[static_cast<std::size_t>(number)];
  }
  struct Place {
    void* memory;
    std::int64_t offset;
  };
  [[nodiscard]] Place place_of(std::int64_t number, Side side) const;
  [[nodiscard]] void* argument(std::int64_t number, Side side) const;
  [[nodiscard]] bool is_loaded(std::int64_t number, Side side) const;
  [[nodiscard]] bool is_fetched(std::int64_t number) const;
  [[nodiscard]] Event& ready_event(std::int64_t number, Side side);
  [[nodiscard]] const void* host_data(Side side) const;
  [[nodiscard]] const HostOperand& operand(Side side) const { return setup_.product.operand(side); }
  [[nodiscard]] Region region(std::int64_t number, Side side) const {
    return region_of(setup_.product, setup_.tiling, step(number), side);
  }

  const RunSetup& setup_;
  std::atomic<std::size_t> next_{0};

  Progress progress_;                                    // guards what follows
  std::vector<std::array<std::int64_t, sides>> loaded_;  // tasks done, by step and side
  std::vector<std::int64_t> fetched_;                    // download tasks enqueued, by step
  std::int64_t computed_ = 0;                            // kernels enqueued
  std::vector<std::int64_t> up_ticket_;                  // of what was last enqueued from each slot of the ring
  std::vector<std::int64_t> down_ticket_;
  std::vector<std::int64_t> drained_ticket_;

  std::mutex upload_mutex_;  // one for each queue and what is recorded on it
  std::mutex download_mutex_;
  std::mutex compute_mutex_;

  // Events of the lane, by what they say.
  std::array<std::vector<Event*>, sides> ready_;  // this slot has its panel
  std::vector<Event*> fetched_event_;             // this slot of C has been fetched
  std::vector<Event*> computed_event_;            // by step
  std::vector<Event*> up_event_;                  // this slot of the ring is free
  std::vector<Event*> down_event_;                // this slot of the ring is full
};

}  // namespace exactile::staging
