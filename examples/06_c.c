/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * One product from C: describe, hand over the data, look at the answer. Link with -lexactile.
 */
#include <stdio.h>

#include "exactile.h"

int main(void) {
  const float a[2 * 3] = {1, 2, 3, 4, 5, 6};
  const float b[3 * 2] = {1, 0, 0, 1, 1, 1};
  float c[2 * 2] = {0, 0, 0, 0};

  exactile_gemm_description d = {.size = sizeof d};
  d.input_type = EXACTILE_F32;
  d.output_type = EXACTILE_F32;
  d.m = 2, d.n = 2, d.k = 3;
  d.batch_count = 1;
  d.a.row_stride = 3, d.a.column_stride = 1;
  d.b.row_stride = 2, d.b.column_stride = 1;
  d.c.row_stride = 2, d.c.column_stride = 1;

  exactile_gemm_arguments x = {.size = sizeof x};
  x.a = a;
  x.b = b;
  x.c = c;
  if (exactile_gemm(&d, &x, NULL) != EXACTILE_OK) {
    fprintf(stderr, "%s\n", exactile_error_text());
    return 1;
  }
  printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);

  /* A mistake comes back as a number and a sentence, and nothing is written. */
  d.k = -3;
  const exactile_status refused = exactile_gemm(&d, &x, NULL);
  printf("%s: %s\n", exactile_status_name(refused), exactile_error_text());
  return 0;
}
