/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * From C, many inputs by the same weights: plan once, prepare the weights once, run often. alpha and beta are pointers
 * to numbers of the type that sums.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exactile.h"

enum { m = 4, n = 64, k = 64, inputs = 3 };

static void check(exactile_status status) {
  if (status == EXACTILE_OK) return;
  fprintf(stderr, "%s: %s\n", exactile_status_name(status), exactile_error_text());
  exit(1);
}

int main(void) {
  static double input[m * k], weights[k * n], sum[m * n];
  for (int i = 0; i < m * k; ++i) input[i] = i % k == i / k ? 1 : 0; /* the first rows of the identity */
  for (int i = 0; i < k * n; ++i) weights[i] = i % n;

  exactile_gemm_description d = {.size = sizeof d};
  d.input_type = EXACTILE_F64;
  d.output_type = EXACTILE_F64;
  d.m = m, d.n = n, d.k = k;
  d.batch_count = 1;
  d.a.row_stride = k, d.a.column_stride = 1;
  d.b.row_stride = n, d.b.column_stride = 1;
  d.c.row_stride = n, d.c.column_stride = 1;
  exactile_gemm_options options = {.size = sizeof options};
  options.threads = 1;

  exactile_plan* plan = NULL;
  exactile_prepared* prepared = NULL;
  check(exactile_plan_make(&d, &options, &plan));
  check(exactile_plan_prepare(plan, EXACTILE_B, weights, NULL, &prepared));

  const double beta = 1; /* sum += input * weights */
  exactile_gemm_arguments x = {.size = sizeof x};
  x.a = input;
  x.c = sum;
  x.beta = &beta;
  x.prepared_b = prepared;
  for (int i = 0; i < inputs; ++i) check(exactile_plan_run(plan, &x, NULL));
  printf("last row: %g %g ... %g\n", sum[(m - 1) * n], sum[(m - 1) * n + 1], sum[m * n - 1]);

  size_t needed = 0;
  check(exactile_plan_explain(plan, NULL, 0, &needed));
  char* text = malloc(needed);
  if (text == NULL) return 1;
  check(exactile_plan_explain(plan, text, needed, NULL));
  fputs(text, stdout);
  free(text);
  exactile_prepared_destroy(prepared);
  exactile_plan_destroy(plan);
  return 0;
}
