// SPDX-License-Identifier: Apache-2.0
#include "staging/run.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/team.hpp"
#include "staging/operands.hpp"

namespace exactile::staging {
namespace {

constexpr std::array all_sides{Side::a, Side::b, Side::c, Side::bias, Side::row_scales, Side::column_scales};
static_assert(all_sides.size() == sides);

/// Whether a side comes and goes with the tiles of C.
bool is_of_tile(Side side) { return side != Side::a && side != Side::b; }

std::size_t index(Side side) { return static_cast<std::size_t>(side); }
std::size_t index(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace

std::size_t Run::event_count(const RunSetup& setup) {
  std::size_t count = setup.schedule.size() + index(setup.tiling.c_slots);
  for (const Side side : all_sides) count += index(setup.tiling.slots(side));
  return count + index(setup.movement.up_slots) + index(setup.movement.down_slots);
}

Run::Run(const RunSetup& setup)
    : setup_(setup),
      loaded_(setup.schedule.size()),
      fetched_(setup.schedule.size()),
      up_ticket_(index(setup.movement.up_slots), -1),
      down_ticket_(index(setup.movement.down_slots), -1),
      drained_ticket_(index(setup.movement.down_slots), -1) {
  auto spare = setup.lane->events.begin();
  const auto take = [&](std::vector<Event*>& events, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) events.push_back((spare++)->get());
  };
  for (const Side side : all_sides) take(ready_[index(side)], setup.tiling.slots(side));
  take(fetched_event_, setup.tiling.c_slots);
  take(computed_event_, static_cast<std::int64_t>(setup.schedule.size()));
  take(up_event_, setup.movement.up_slots);
  take(down_event_, setup.movement.down_slots);
}

Status Run::execute(int threads) {
  core::run_team(threads, [this](const core::Member&) { work(); });
  Status ended = finish();
  return progress_.status().ok() ? ended : progress_.status();
}

void Run::work() {
  for (;;) {
    const std::size_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= setup_.list.tasks.size()) return;
    Status status;
    try {
      status = perform(setup_.list.tasks[number]);
    } catch (const std::bad_alloc&) {
      status = Status(StatusCode::out_of_memory, "no host memory while operands were moved");
    }
    if (!status.ok()) progress_.fail(std::move(status));
    if (progress_.has_failed()) return;
  }
}

Status Run::perform(const Task& task) {
  switch (task.kind) {
    case Task::Kind::upload: return upload(task);
    case Task::Kind::compute: return compute(task);
    case Task::Kind::download: return download(task);
    default: return drain(task);
  }
}

/// Nothing may touch host memory or slots any more when a run returns, failed or not.
Status Run::finish() {
  Status first;
  const auto wait = [&](Queue& queue) {
    Status s = queue.finish();
    if (first.ok()) first = std::move(s);
  };
  wait(*setup_.lane->upload);
  for (const auto& queue : setup_.lane->compute) wait(*queue);
  wait(*setup_.lane->download);
  return first;
}

Status Run::upload(const Task& task) {
  // What the slot held must be done with, at least in the order of the queues.
  const Step& now = step(task.step);
  const bool of_c = is_of_tile(task.side);
  const After& after = task.side == Side::a ? now.a.after : now.b.after;
  const bool may_start = of_c
                             ? progress_.wait_until(News::fetches, [&] { return is_fetched(now.c_before); })
                             : progress_.wait_until(News::kernels, [&] {
                                 return std::ranges::all_of(after, [&](std::int64_t step) { return computed_ > step; });
                               });
  if (!may_start) return {};
  return task.ticket < 0 ? upload_directly(task) : upload_through_ring(task);
}

Status Run::upload_directly(const Task& task) {
  const std::lock_guard lock(upload_mutex_);
  if (Status s = open_load(task); !s.ok()) return s;
  const Place place = place_of(task.step, task.side);
  const Copy copy{.device_memory = place.memory, .device_offset = place.offset};
  if (Status s =
          for_each_product(operand(task.side), host_data(task.side), region(task.step, task.side), copy,
                           [&](const Copy& part, const void* from) { return setup_.lane->upload->upload(part, from); });
      !s.ok())
    return s;
  return close_load(task);
}

Status Run::upload_through_ring(const Task& task) {
  const std::int64_t slots = setup_.movement.up_slots;
  const std::int64_t slot = task.ticket % slots;
  if (!progress_.wait_until(News::up_ring,
                            [&] { return task.ticket < slots || up_ticket_[index(slot)] == task.ticket - slots; }))
    return {};
  if (task.ticket >= slots)
    if (Status s = up_event_[index(slot)]->wait(); !s.ok()) return s;
  const Region moved = region(task.step, task.side);
  const Chunk chunk = chunk_of(operand(task.side).image(moved), setup_.movement.chunk_bytes, task.chunk);
  char* piece = static_cast<char*>(setup_.rings->up.data()) + slot * setup_.movement.chunk_bytes;
  operand(task.side).gather(host_data(task.side), moved, chunk, piece);

  const std::lock_guard lock(upload_mutex_);
  if (Status s = open_load(task); !s.ok()) return s;
  const Place place = place_of(task.step, task.side);
  Queue& queue = *setup_.lane->upload;
  if (Status s = queue.upload(Copy::contiguous(place.memory, place.offset + chunk.offset, chunk.bytes), piece); !s.ok())
    return s;
  if (Status s = queue.record(*up_event_[index(slot)]); !s.ok()) return s;
  progress_.tell(News::up_ring, [&] { up_ticket_[index(slot)] = task.ticket; });
  return close_load(task);
}

/// Before the first of a panel's uploads: the queue waits for those who still use the slot. Called with the queue's
/// lock.
Status Run::open_load(const Task& task) {
  if (loaded_[index(task.step)][index(task.side)] != 0) return {};
  const Step& now = step(task.step);
  if (is_of_tile(task.side))
    return now.c_before < 0 ? Status() : setup_.lane->upload->wait(*fetched_event_[index(now.c_slot)]);
  for (const std::int64_t used : task.side == Side::a ? now.a.after : now.b.after)
    if (used >= 0)
      if (Status s = setup_.lane->upload->wait(*computed_event_[index(used)]); !s.ok()) return s;
  return {};
}

/// After each of a panel's uploads; the last one says so to the kernels. Called with the queue's lock.
Status Run::close_load(const Task& task) {
  const std::int64_t all = setup_.list.uploads[index(task.step)][index(task.side)];
  const bool is_last = loaded_[index(task.step)][index(task.side)] + 1 == all;
  if (is_last)
    if (Status s = setup_.lane->upload->record(ready_event(task.step, task.side)); !s.ok()) return s;
  progress_.tell(
      News::loads, [&] { ++loaded_[index(task.step)][index(task.side)]; }, is_last);
  return {};
}

bool Run::is_loaded(std::int64_t number, Side side) const {
  return loaded_[index(number)][index(side)] == setup_.list.uploads[index(number)][index(side)];
}

bool Run::is_fetched(std::int64_t number) const {
  return number < 0 || fetched_[index(number)] == setup_.list.downloads[index(number)];
}

Status Run::compute(const Task& task) {
  const Step& now = step(task.step);
  // Kernels are enqueued in the order of their numbers, so that "after step s" means after all before it on its queue.
  if (!progress_.wait_until(News::kernels, [&] { return computed_ == task.step; })) return {};
  const bool may_start = progress_.wait_until(News::loads, [&] {
    return is_loaded(now.a.loaded_by, Side::a) && is_loaded(now.b.loaded_by, Side::b) &&
           (!now.starts_tile ||
            std::ranges::all_of(all_sides, [&](Side side) { return !is_of_tile(side) || is_loaded(task.step, side); }));
  });
  if (!may_start) return {};
  if (now.starts_tile && !progress_.wait_until(News::fetches, [&] { return is_fetched(now.c_before); })) return {};
  if (Status s = enqueue_kernel(task.step); !s.ok()) return s;
  progress_.tell(News::kernels, [&] { ++computed_; });
  return {};
}

Status Run::enqueue_kernel(std::int64_t number) {
  const std::lock_guard lock(compute_mutex_);
  const Step& now = step(number);
  Queue& queue = *setup_.lane->compute[static_cast<std::size_t>(now.queue)];
  if (Status s = queue.wait(ready_event(number, Side::a)); !s.ok()) return s;
  if (Status s = queue.wait(ready_event(number, Side::b)); !s.ok()) return s;
  if (now.starts_tile) {
    for (const Side side : all_sides)
      if (is_of_tile(side) && setup_.list.uploads[index(number)][index(side)] != 0)
        if (Status s = queue.wait(ready_event(number, side)); !s.ok()) return s;
    if (now.c_before >= 0)
      if (Status s = queue.wait(*fetched_event_[index(now.c_slot)]); !s.ok()) return s;
  }
  GemmArguments arguments = setup_.arguments;
  for (const Side side : all_sides)
    set_data(arguments, side, setup_.product.has(side) ? argument(number, side) : nullptr);
  if (!now.starts_tile) arguments.beta = 1;
  const Buffer& workspace = setup_.workspaces[static_cast<std::size_t>(now.queue)];
  const Execution execution{
      .queue = queue.handle(), .workspace = workspace.data(), .workspace_bytes = workspace.bytes()};
  if (Status s = setup_.kernels[index(number)]->run(arguments, execution); !s.ok()) return s;
  return queue.record(*computed_event_[index(number)]);
}

Status Run::download(const Task& task) {
  if (!progress_.wait_until(News::kernels, [&] { return computed_ > task.step; })) return {};
  return task.ticket < 0 ? download_directly(task) : download_through_ring(task);
}

Status Run::download_directly(const Task& task) {
  const std::lock_guard lock(download_mutex_);
  Queue& queue = *setup_.lane->download;
  if (Status s = queue.wait(*computed_event_[index(task.step)]); !s.ok()) return s;
  const Place place = place_of(task.step, Side::c);
  const Copy copy{.device_memory = place.memory, .device_offset = place.offset};
  if (Status s = for_each_product(
          operand(Side::c), host_data(Side::c), region(task.step, Side::c), copy,
          [&](const Copy& part, const void* to) { return queue.download(part, const_cast<void*>(to)); });
      !s.ok())
    return s;
  return close_download(task);
}

Status Run::download_through_ring(const Task& task) {
  const std::int64_t slots = setup_.movement.down_slots;
  const std::int64_t slot = task.ticket % slots;
  if (!progress_.wait_until(News::down_ring,
                            [&] { return task.ticket < slots || drained_ticket_[index(slot)] == task.ticket - slots; }))
    return {};
  const Chunk chunk =
      chunk_of(operand(Side::c).image(region(task.step, Side::c)), setup_.movement.chunk_bytes, task.chunk);
  char* piece = static_cast<char*>(setup_.rings->down.data()) + slot * setup_.movement.chunk_bytes;

  const std::lock_guard lock(download_mutex_);
  Queue& queue = *setup_.lane->download;
  if (Status s = queue.wait(*computed_event_[index(task.step)]); !s.ok()) return s;
  const Place place = place_of(task.step, Side::c);
  if (Status s = queue.download(Copy::contiguous(place.memory, place.offset + chunk.offset, chunk.bytes), piece);
      !s.ok())
    return s;
  if (Status s = queue.record(*down_event_[index(slot)]); !s.ok()) return s;
  progress_.tell(News::down_ring, [&] { down_ticket_[index(slot)] = task.ticket; });
  return close_download(task);
}

/// After each of a tile's downloads; the last one frees the slot of C. Called with the queue's lock.
Status Run::close_download(const Task& task) {
  const bool is_last = fetched_[index(task.step)] + 1 == setup_.list.downloads[index(task.step)];
  if (is_last)
    if (Status s = setup_.lane->download->record(*fetched_event_[index(step(task.step).c_slot)]); !s.ok()) return s;
  progress_.tell(
      News::fetches, [&] { ++fetched_[index(task.step)]; }, is_last);
  return {};
}

Status Run::drain(const Task& task) {
  const std::int64_t slot = task.ticket % setup_.movement.down_slots;
  if (!progress_.wait_until(News::down_ring, [&] { return down_ticket_[index(slot)] == task.ticket; })) return {};
  if (Status s = down_event_[index(slot)]->wait(); !s.ok()) return s;
  const Region moved = region(task.step, Side::c);
  const Chunk chunk = chunk_of(operand(Side::c).image(moved), setup_.movement.chunk_bytes, task.chunk);
  const char* piece = static_cast<const char*>(setup_.rings->down.data()) + slot * setup_.movement.chunk_bytes;
  operand(Side::c).scatter(piece, moved, chunk, setup_.arguments.c);
  progress_.tell(News::down_ring, [&] { drained_ticket_[index(slot)] = task.ticket; });
  return {};
}

Run::Place Run::place_of(std::int64_t number, Side side) const {
  const RunSetup::Slots& slots = setup_.slots[index(side)];
  const std::int64_t slot = step(number).slot(side);
  return {slots.blocks[index(slot / slots.per_block)].data(), slot % slots.per_block * slots.slot_bytes};
}

void* Run::argument(std::int64_t number, Side side) const {
  const Place place = place_of(number, side);
  return setup_.device.at(place.memory, place.offset);
}

Event& Run::ready_event(std::int64_t number, Side side) { return *ready_[index(side)][index(step(number).slot(side))]; }

const void* Run::host_data(Side side) const { return data_of(setup_.arguments, side); }

}  // namespace exactile::staging
