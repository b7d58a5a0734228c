// SPDX-License-Identifier: Apache-2.0
// The end of a product whose K was cut into chunks: the chunks' sums are added in their order, one work-item for each
// element of C. Without any chunk what remains is C <- activation(beta * C + bias).

__kernel void reduce(const long m, const long n, const long products, const long slices,
                     __global const Sum *restrict partial, OUTPUT_ARGUMENTS) {
  const long at = get_global_id(0);
  const long elements = m * n * products;
  if (at >= elements) return;
  Sum total = ZERO;
  for (long slice = 0; slice < slices; ++slice) total += partial[slice * elements + at];
  const long product = at / (m * n);
  const long element = at % (m * n);
  STORE(c + c_offset + product * c_batch, element / n, element % n, total);
}
