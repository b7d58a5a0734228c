// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/ladder/padded_product.hpp"

#include "cuda/tile/tiles.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda {

PaddedProduct::PaddedProduct(const GemmDescription& d, const TileShape& tile, bool always_copies_b,
                             std::string_view kernel)
    : description_(d),
      tile_(tile),
      kernel_(kernel),
      a_{.rows = d.m,
         .columns = d.k,
         .from = d.a,
         .type = d.types.input,
         .pitch = core::round_up(d.m, tile.rows),
         .copy_rows = core::round_up(d.k, tile.depth)},
      b_{.rows = d.n,
         .columns = d.k,
         .from = plan::transposed(d.b),
         .type = d.types.input,
         .pitch = core::round_up(d.n, tile.columns),
         .copy_rows = core::round_up(d.k, tile.depth)},
      copies_b_(always_copies_b || d.b.column_stride != 1 || b_.pitch != d.n || b_.copy_rows != d.k),
      at_once_(products_at_once(d, product_bytes())) {}

Status PaddedProduct::launch(const Launch& launch) const {
  const GemmArguments& from = launch.arguments;
  const GemmTypes types = description_.types;
  void* const b_copies = static_cast<char*>(launch.workspace) + at_once_ * a_.product_bytes();
  GemmDescription d = description_;
  d.a = a_.layout();
  if (copies_b_) d.b = plan::transposed(b_.layout());
  GemmArguments padded = from;
  padded.a = launch.workspace;
  for (std::int64_t first = 0; first < description_.batch_count; first += at_once_) {
    d.batch_count = std::min(at_once_, description_.batch_count - first);
    const void* const a = from_product(from.a, description_.a, types.input, first);
    const void* const b = from_product(from.b, description_.b, types.input, first);
    if (Status s = a_.launch(a, launch.workspace, d.batch_count, launch.stream, kernel_); !s.ok()) return s;
    if (copies_b_)
      if (Status s = b_.launch(b, b_copies, d.batch_count, launch.stream, kernel_); !s.ok()) return s;
    padded.b = copies_b_ ? b_copies : b;
    padded.c = const_cast<void*>(from_product(from.c, d.c, types.output, first));
    launch_tiles(d, padded, launch.stream);
    if (Status s = check_launch(kernel_); !s.ok()) return s;
  }
  return {};
}

double PaddedProduct::model_bytes() const {
  return tiled_bytes(description_, tile_.rows, tile_.columns) +
         2.0 * static_cast<double>(product_bytes()) * static_cast<double>(description_.batch_count);
}

std::string PaddedProduct::tile_text() const {
  return "BM=" + std::to_string(tile_.rows) + " BN=" + std::to_string(tile_.columns) +
         " BK=" + std::to_string(tile_.depth) + (copies_b_ ? ", B copied" : "");
}

}  // namespace exactile::cuda
