// SPDX-License-Identifier: Apache-2.0
#include "staging/tasks.hpp"

#include <deque>

namespace exactile::staging {
namespace {

constexpr std::int64_t lookahead = 3;  // tiles on their way while the host waits for a finished one

class Writer {
 public:
  Writer(const HostProduct& product, const Tiling& tiling, const std::vector<Step>& schedule, const Movement& movement)
      : product_(product), tiling_(tiling), schedule_(schedule), movement_(movement) {
    list_.uploads.resize(schedule.size());
    list_.downloads.resize(schedule.size());
  }

  TaskList write() {
    for (std::size_t s = 0; s < schedule_.size(); ++s) {
      const Step& step = schedule_[s];
      const auto number = static_cast<std::int64_t>(s);
      if (step.starts_tile) make_room(step.c_before);
      if (step.a.loaded_by == number) upload(number, Side::a);
      if (step.b.loaded_by == number) upload(number, Side::b);
      for (std::size_t side = 0; step.starts_tile && side < sides; ++side)
        if (movement_.with_tile[side]) upload(number, static_cast<Side>(side));
      list_.tasks.push_back({.kind = Task::Kind::compute, .step = number});
      if (!step.ends_tile) continue;
      download(number);
      ++tiles_;
      while (!draining_.empty() && draining_.front().tile <= tiles_ - lookahead) drain();
    }
    while (!draining_.empty()) drain();
    return std::move(list_);
  }

 private:
  struct Piece {
    std::int64_t tile;
    Task task;
  };

  [[nodiscard]] std::int64_t chunks(std::int64_t step, Side side) const {
    if (movement_.directly[static_cast<std::size_t>(side)]) return 1;
    const Region region = region_of(product_, tiling_, schedule_[static_cast<std::size_t>(step)], side);
    return chunk_count(product_.operand(side).image(region), movement_.chunk_bytes);
  }

  void upload(std::int64_t step, Side side) {
    const std::int64_t count = chunks(step, side);
    const bool directly = movement_.directly[static_cast<std::size_t>(side)];
    list_.uploads[static_cast<std::size_t>(step)][static_cast<std::size_t>(side)] = count;
    for (std::int64_t chunk = 0; chunk < count; ++chunk)
      list_.tasks.push_back({Task::Kind::upload, side, step, chunk, directly ? -1 : uploaded_++});
  }

  void download(std::int64_t step) {
    const std::int64_t count = chunks(step, Side::c);
    const bool directly = movement_.directly[static_cast<std::size_t>(Side::c)];
    list_.downloads[static_cast<std::size_t>(step)] = count;
    for (std::int64_t chunk = 0; chunk < count; ++chunk) {
      const Task task{Task::Kind::download, Side::c, step, chunk, directly ? -1 : downloaded_++};
      if (directly)
        list_.tasks.push_back(task);
      else
        waiting_.push_back({tiles_, task});
    }
    fill_ring();
  }

  void fill_ring() {
    while (!waiting_.empty() && static_cast<std::int64_t>(draining_.size()) < movement_.down_slots) {
      list_.tasks.push_back(waiting_.front().task);
      draining_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  void drain() {
    Task task = draining_.front().task;
    task.kind = Task::Kind::drain;
    list_.tasks.push_back(task);
    draining_.pop_front();
    fill_ring();
  }

  /// The slot of C that is taken next must have been fetched, or at least be on its way.
  void make_room(std::int64_t step) {
    while (!waiting_.empty() && waiting_.front().task.step <= step) drain();
  }

  const HostProduct& product_;
  const Tiling& tiling_;
  const std::vector<Step>& schedule_;
  const Movement& movement_;
  TaskList list_;
  std::deque<Piece> waiting_;   // for room in the ring
  std::deque<Piece> draining_;  // in the ring
  std::int64_t tiles_ = 0;
  std::int64_t uploaded_ = 0;
  std::int64_t downloaded_ = 0;
};

}  // namespace

Region region_of(const HostProduct& product, const Tiling& tiling, const Step& step, Side side) {
  return regions_of(product.problem, tiling, step.group, step.i, step.j, step.k).of(side);
}

TaskList make_tasks(const HostProduct& product, const Tiling& tiling, const std::vector<Step>& schedule,
                    const Movement& movement) {
  return Writer(product, tiling, schedule, movement).write();
}

}  // namespace exactile::staging
