// SPDX-License-Identifier: Apache-2.0
#include "product_shape.hpp"

#include <algorithm>

#include "failure.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

void refuse_scalar(const ArrayLayout& array) {
  if (array.shape.empty())
    fail(Exit::bad_input, "{}: is a single number (shape ()); expected an array of one dimension or more", array.name);
}

void transpose(ArrayLayout& array, const char* option) {
  const std::size_t rank = array.shape.size();
  if (rank < 2)
    fail(Exit::bad_input, "{}: {} needs two dimensions or more; its shape is {}", array.name, option,
         shape_text(array.shape));
  std::swap(array.shape[rank - 1], array.shape[rank - 2]);
  std::swap(array.strides[rank - 1], array.strides[rank - 2]);
}

/// Extent of the operand in dimension i of a batch of `rank` dimensions; missing ones in front count as 1.
std::int64_t batch_extent(const ArrayLayout& array, std::size_t rank, std::size_t i) {
  const std::size_t own = array.shape.size() - 2;
  return i + own < rank ? 1 : array.shape[i + own - rank];
}

OperandWalk walk(const ArrayLayout& array, const std::vector<std::int64_t>& batch) {
  const std::size_t own = array.shape.size() - 2;
  OperandWalk result{.batch_strides = std::vector<std::int64_t>(batch.size(), 0),
                     .row_stride = array.strides[own],
                     .column_stride = array.strides[own + 1]};
  for (std::size_t i = batch.size() - own; i < batch.size(); ++i)
    if (batch_extent(array, batch.size(), i) != 1) result.batch_strides[i] = array.strides[i + own - batch.size()];
  return result;
}

std::vector<std::int64_t> broadcast(const ArrayLayout& a, const ArrayLayout& b, const std::string& shapes) {
  const std::size_t rank = std::max(a.shape.size(), b.shape.size()) - 2;
  std::vector<std::int64_t> batch(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t of_a = batch_extent(a, rank, i);
    const std::int64_t of_b = batch_extent(b, rank, i);
    if (of_a != of_b && of_a != 1 && of_b != 1)
      fail(Exit::bad_input, "{}: the batch dimensions {} and {} do not fit; expected equal ones, or one of them 1",
           shapes, of_a, of_b);
    batch[i] = of_a == 1 ? of_b : of_a;
  }
  return batch;
}

}  // namespace

ProductShape match_shapes(ArrayLayout a, ArrayLayout b, bool transpose_a, bool transpose_b) {
  refuse_scalar(a);
  refuse_scalar(b);
  const std::string shapes = fmt::format("{} {} and {} {}", a.name, shape_text(a.shape), b.name, shape_text(b.shape));
  if (transpose_a) transpose(a, "--transpose-a");
  if (transpose_b) transpose(b, "--transpose-b");
  const bool a_is_vector = a.shape.size() == 1;
  const bool b_is_vector = b.shape.size() == 1;
  if (a_is_vector) {
    a.shape.insert(a.shape.begin(), 1);
    a.strides.insert(a.strides.begin(), std::max<std::int64_t>(a.shape[1], 1));
  }
  if (b_is_vector) {
    b.shape.push_back(1);
    b.strides.push_back(1);
  }

  ProductShape product;
  product.m = a.shape[a.shape.size() - 2];
  product.k = a.shape.back();
  product.n = b.shape.back();
  if (product.k != b.shape[b.shape.size() - 2])
    fail(Exit::bad_input, "{}: do not fit: A has {} columns{}, B has {} rows{}; expected equal numbers", shapes,
         product.k, transpose_a ? " after --transpose-a" : "", b.shape[b.shape.size() - 2],
         transpose_b ? " after --transpose-b" : "");
  product.batch = broadcast(a, b, shapes);
  for (const std::int64_t extent : product.batch)
    product.batch_count = product_of_sizes(product.batch_count, extent, "the number of products");
  product.a = walk(a, product.batch);
  product.b = walk(b, product.batch);
  product.result = product.batch;
  if (!a_is_vector) product.result.push_back(product.m);
  if (!b_is_vector) product.result.push_back(product.n);
  return product;
}

std::optional<std::int64_t> single_stride(const std::vector<std::int64_t>& batch,
                                          const std::vector<std::int64_t>& batch_strides) {
  std::optional<std::int64_t> first;
  std::int64_t expected = 0;
  for (std::size_t i = batch.size(); i-- > 0;) {
    if (batch[i] == 1) continue;
    if (!first)
      first = batch_strides[i];
    else if (batch_strides[i] != expected)
      return std::nullopt;
    expected = batch_strides[i] * batch[i];
  }
  return first.value_or(0);
}

}  // namespace exactile::program
