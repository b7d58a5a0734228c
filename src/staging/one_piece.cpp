// SPDX-License-Identifier: Apache-2.0
#include "staging/one_piece.hpp"

#include <utility>

#include "core/checked.hpp"

namespace exactile::staging {
namespace {

/// Where the operands lie in the block that travels; C comes last, because it need not go up.
struct Places {
  std::int64_t a;
  std::int64_t b;
  std::array<std::int64_t, vector_sides.size()> vectors;
  std::int64_t c;
  std::int64_t end;
};

Places places(const Tiling& t) {
  Places p{};
  p.b = p.a + t.a_slot_bytes;
  p.c = p.b + t.b_slot_bytes;
  for (std::size_t v = 0; v < vector_sides.size(); ++v) p.vectors[v] = std::exchange(p.c, p.c + t.vector_slot_bytes[v]);
  p.end = p.c + t.c_slot_bytes;
  return p;
}

void gather_whole(const HostOperand& operand, const void* data, const Region& region, char* to) {
  const Image image = operand.image(region);
  operand.gather(data, region, {.lines = image.lines(), .line_bytes = image.line_bytes, .bytes = image.bytes()}, to);
}

Status ensure_pinned(Lane& lane, Stager& stager, std::int64_t bytes) {
  if (lane.small.bytes() >= bytes) return {};
  auto pinned = stager.pinned(bytes);
  if (!pinned.ok()) return pinned.status();
  lane.small = std::move(pinned).value();
  return {};
}

}  // namespace

bool fits_one_piece(const Tiling& tiling, bool all_pinned, const Limits& limits) {
  const std::int64_t most = all_pinned ? limits.one_piece_bytes / 8 : limits.one_piece_bytes;
  return tiling.tiles() * tiling.k_tiles == 1 && places(tiling).end <= most;
}

Status run_in_one_piece(const HostProduct& product, const Tiling& tiling, const GemmArguments& arguments,
                        const plan::Executable& kernel, Stager& stager) {
  const auto lane = stager.lane();
  if (!lane.ok()) return lane.status();
  Lane& l = *lane.value();
  const Places at = places(tiling);
  if (Status s = ensure_pinned(l, stager, core::round_up(at.end, 1 << 20)); !s.ok()) return s;
  const auto memory = stager.memory(at.end);
  if (!memory.ok()) return memory.status();
  Buffer workspace;
  if (kernel.workspace_bytes() != 0) {
    auto taken = stager.memory(kernel.workspace_bytes());
    if (!taken.ok()) return taken.status();
    workspace = std::move(taken).value();
  }

  auto* host = static_cast<char*>(l.small.data());
  const TileRegions regions = regions_of(product.problem, tiling, 0, 0, 0, 0);
  const bool reads_c = !arguments.beta.is_zero();
  gather_whole(product.a, arguments.a, regions.a, host + at.a);
  gather_whole(product.b, arguments.b, regions.b, host + at.b);
  for (std::size_t v = 0; v < vector_sides.size(); ++v)
    if (const Side side = vector_sides[v]; product.has(side))
      gather_whole(product.operand(side), data_of(arguments, side), regions.of(side), host + at.vectors[v]);
  if (reads_c) gather_whole(product.c, arguments.c, regions.c, host + at.c);

  Queue& queue = *l.compute[0];
  void* device = memory.value().data();
  const auto on_device = [&](std::int64_t offset) { return stager.device().at(device, offset); };
  GemmArguments moved = arguments;
  moved.a = on_device(at.a);
  moved.b = on_device(at.b);
  moved.c = on_device(at.c);
  for (std::size_t v = 0; v < vector_sides.size(); ++v)
    set_data(moved, vector_sides[v], product.has(vector_sides[v]) ? on_device(at.vectors[v]) : nullptr);
  const Execution execution{
      .queue = queue.handle(), .workspace = workspace.data(), .workspace_bytes = workspace.bytes()};
  const std::int64_t c_bytes = product.c.image(regions.c).bytes();
  Status status = [&]() -> Status {
    if (Status s = queue.upload(Copy::contiguous(device, 0, reads_c ? at.end : at.c), host); !s.ok()) return s;
    if (Status s = kernel.run(moved, execution); !s.ok()) return s;
    return queue.download(Copy::contiguous(device, at.c, c_bytes), host + at.c);
  }();
  // A failed call must not leave a copy behind that is still under way.
  Status end = queue.finish();
  if (!status.ok()) return status;
  if (!end.ok()) return end;
  const Image image = product.c.image(regions.c);
  product.c.scatter(host + at.c, regions.c, {.lines = image.lines(), .line_bytes = image.line_bytes}, arguments.c);
  return {};
}

}  // namespace exactile::staging
