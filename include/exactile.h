/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * The C interface of libexactile.so: C99, opaque handles, and nothing that throws.
 *
 *     exactile_gemm_description d = {.size = sizeof d};
 *     d.input_type = d.output_type = EXACTILE_F32;
 *     d.m = m, d.n = n, d.k = k, d.batch_count = 1;
 *     d.a.row_stride = k, d.b.row_stride = n, d.c.row_stride = n;
 *     d.a.column_stride = d.b.column_stride = d.c.column_stride = 1;
 *     exactile_gemm_arguments x = {.size = sizeof x};
 *     x.a = a, x.b = b, x.c = c;
 *     if (exactile_gemm(&d, &x, NULL) != EXACTILE_OK) puts(exactile_error_text());
 *
 * Every struct that is passed by pointer begins with its size in bytes, as the caller's header knows it. Fields that a
 * later version adds come at the end and mean nothing where they are zero, so a program keeps working with a later
 * library; an earlier library refuses a struct whose unknown fields are not zero.
 *
 * Every call may be made from any thread; a handle may be used by several threads at once, but destroyed by one, when
 * no other uses it. Destroying NULL does nothing. What products mean (special values, empty sizes, overlap, accuracy)
 * is said in exactile/plan.hpp and docs/accuracy.md.
 */
#ifndef EXACTILE_H
#define EXACTILE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define EXACTILE_API __attribute__((visibility("default")))
#else
#define EXACTILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a call answers. The values are part of the interface and do not change. */
typedef enum exactile_status {
  EXACTILE_OK = 0,
  EXACTILE_INVALID_ARGUMENT = 1,   /**< contradicts itself, another argument, or the documented range */
  EXACTILE_UNKNOWN_NAME = 2,       /**< no kernel, backend or type of that name */
  EXACTILE_UNSUPPORTED = 3,        /**< meaningful, but no kernel on this machine can do it */
  EXACTILE_NOT_YET_AVAILABLE = 4,  /**< documented, not built yet */
  EXACTILE_OUT_OF_MEMORY = 5,      /**< host or device memory could not be had */
  EXACTILE_DEVICE_UNAVAILABLE = 6, /**< the backend or device asked for cannot be used here */
  EXACTILE_DEVICE_FAILURE = 7,     /**< a device or vendor call failed while running */
  EXACTILE_INTERNAL_FAILURE = 8    /**< a mistake of the library; the text says where it showed */
} exactile_status;

/** Element types. A product names its input's and its output's: exactile/types.hpp lists the pairs there are. */
typedef enum exactile_type {
  EXACTILE_F64 = 1,
  EXACTILE_F32 = 2,
  EXACTILE_F16 = 3,
  EXACTILE_BF16 = 4,
  EXACTILE_F8E4M3 = 5,
  EXACTILE_F8E5M2 = 6,
  EXACTILE_I64 = 7,
  EXACTILE_I32 = 8,
  EXACTILE_I8 = 9,
  EXACTILE_CF64 = 10, /**< two f64: real part, imaginary part */
  EXACTILE_CF32 = 11,
  EXACTILE_U8 = 12,
  EXACTILE_I16 = 13
} exactile_type;

typedef enum exactile_accuracy {
  EXACTILE_STANDARD = 0, /**< the bound of the plain loop: the default */
  EXACTILE_REDUCED = 1,
  EXACTILE_COMPENSATED = 2,
  EXACTILE_CORRECTLY_ROUNDED = 3
} exactile_accuracy;

typedef enum exactile_bias {
  EXACTILE_NO_BIAS = 0,
  EXACTILE_BIAS_PER_ROW = 1,
  EXACTILE_BIAS_PER_COLUMN = 2
} exactile_bias;

typedef enum exactile_activation {
  EXACTILE_NO_ACTIVATION = 0,
  EXACTILE_RELU = 1,
  EXACTILE_GELU = 2
} exactile_activation;

typedef enum exactile_memory { EXACTILE_HOST = 0, EXACTILE_DEVICE = 1 } exactile_memory;

typedef enum exactile_operand { EXACTILE_A = 0, EXACTILE_B = 1 } exactile_operand;

/**
 * Where the elements of an operand lie; strides count elements. Element (i, j) of product p is
 * base[p * batch_stride + i * row_stride + j * column_stride], or pointers[p][...] where `pointer_array` is 1. A and B
 * take any strides; those of C are positive where they count, and no two elements of C lie at one place. Part of
 * exactile_gemm_description only, so it has no size of its own.
 */
typedef struct exactile_layout {
  int64_t row_stride;
  int64_t column_stride;
  int64_t batch_stride;
  int32_t pointer_array; /**< 0 or 1 */
  int32_t conjugate;     /**< 1, A and B only: the product takes each element's complex conjugate */
} exactile_layout;

/** C <- activation(alpha * diag(row_scales) * A * B * diag(column_scales) + beta * C + bias), m x k by k x n. */
typedef struct exactile_gemm_description {
  size_t size;
  int32_t input_type;  /**< exactile_type of A, and of B where b_type is 0 */
  int32_t output_type; /**< exactile_type of C */
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch_count;
  exactile_layout a;
  exactile_layout b;
  exactile_layout c;
  int32_t bias;          /**< exactile_bias */
  int32_t activation;    /**< exactile_activation */
  int32_t row_scales;    /**< 1: exactile_gemm_arguments gives m factors */
  int32_t column_scales; /**< 1: exactile_gemm_arguments gives n factors */
  exactile_layout d;     /**< where has_d is 1: C is only read then, and D <- what C would become */
  int64_t has_d;
  int64_t b_type; /**< exactile_type of B; 0: that of A */
} exactile_gemm_description;

/** How the product is to be done; NULL in place of it, or zero in a field, leaves the choice to the planner. */
typedef struct exactile_gemm_options {
  size_t size;
  const char* backend;    /**< exactile_devices_json() lists the names */
  const char* kernel;     /**< exactile_kernels_json() lists the names */
  const char* parameters; /**< of a tunable kernel, "MWG=128 NWG=64" */
  int32_t accuracy;       /**< exactile_accuracy */
  int32_t threads;        /**< upper limit; 0: EXACTILE_NUM_THREADS, OMP_NUM_THREADS, what may be used */
  int32_t memory;         /**< exactile_memory: where the operands of a run lie */
  int32_t device;         /**< which of the backend's devices */
  int64_t reproducible;   /**< 1: an element's bits depend on k, its row of A and its column of B alone */
} exactile_gemm_options;

typedef struct exactile_plan exactile_plan; /**< a product whose kernel, blocking and threads are settled */
typedef struct exactile_grouped_plan exactile_grouped_plan; /**< the same of groups of rows with a matrix each */
typedef struct exactile_prepared exactile_prepared;         /**< A or B in the form that a plan's kernel reads */
typedef struct exactile_context exactile_context;           /**< a device and a queue of work on it */
typedef struct exactile_device_memory exactile_device_memory;

/**
 * The data of one run. C must not share an element with A, B, the bias or the scales.
 *
 * alpha and beta point at a number in host memory, of the type that sums: double for f64, float for f32 and everything
 * narrower, int64_t for i64 and for i32 with a C of i64, int32_t for other integers, two doubles or two floats for the
 * complex types. NULL: alpha = 1, beta = 0.
 */
typedef struct exactile_gemm_arguments {
  size_t size;
  const void* a; /**< or, of a pointer array, the array */
  const void* b;
  void* c;
  const void* alpha;
  const void* beta;
  const void* bias;       /**< elements of C's type */
  const void* row_scales; /**< numbers of the type that sums */
  const void* column_scales;
  const exactile_prepared* prepared_a; /**< in place of `a`, which is then NULL */
  const exactile_prepared* prepared_b;
  void* d; /**< where the description has a layout of D */
} exactile_gemm_arguments;

/** On which queue of the device a run is enqueued, and with whose scratch memory. Means nothing to the CPU. */
typedef struct exactile_execution {
  size_t size;
  void* queue;             /**< a cudaStream_t or cl_command_queue; NULL: the device's default queue */
  void* workspace;         /**< device memory, aligned to 256 bytes; NULL: from a pool of the device */
  int64_t workspace_bytes; /**< at least exactile_plan_workspace_bytes() where there is a workspace */
  void* path_counts; /**< device memory of a uint64_t for each of the plan's paths, which are counted up; or NULL */
} exactile_execution;

/** "0.1.0"; valid for ever, as all text that is returned by pointer but exactile_error_text()'s. */
EXACTILE_API const char* exactile_version(void);
EXACTILE_API const char* exactile_status_name(exactile_status status);

/**
 * One sentence about the last call of this thread that answered anything but EXACTILE_OK: which argument, its value and
 * what was expected. "" before the first. Valid until the next call of this thread that fails.
 */
EXACTILE_API const char* exactile_error_text(void);

/** Bytes of one element; 0 for what is no exactile_type. */
EXACTILE_API int64_t exactile_type_size(int32_t type);

/** Plan and run once, with operands in host memory unless the options say otherwise. `options` may be NULL. */
EXACTILE_API exactile_status exactile_gemm(const exactile_gemm_description* description,
                                           const exactile_gemm_arguments* arguments,
                                           const exactile_gemm_options* options);

/** Settles a product. *plan is NULL where the call fails. */
EXACTILE_API exactile_status exactile_plan_make(const exactile_gemm_description* description,
                                                const exactile_gemm_options* options, exactile_plan** plan);
EXACTILE_API void exactile_plan_destroy(exactile_plan* plan);

/**
 * With operands in host memory the call returns when C is written. In device memory the work is enqueued and the
 * pointers must stay valid until it is done; an error of the device may surface in a later call. `execution` may be
 * NULL. Runs of one plan at the same time need different C and workspaces.
 */
EXACTILE_API exactile_status exactile_plan_run(const exactile_plan* plan, const exactile_gemm_arguments* arguments,
                                               const exactile_execution* execution);

/** Scratch memory of one run, all threads together; 0 for NULL. */
EXACTILE_API int64_t exactile_plan_workspace_bytes(const exactile_plan* plan);

/**
 * The bound of every element of C: |computed - exact| <= *of_result * |C| + *of_terms * (|alpha| |A| |B| + |beta C| +
 * |bias|), apart from underflow; exactile/error_bound.hpp and docs/accuracy.md say more. Both are 0 for integers.
 */
EXACTILE_API exactile_status exactile_plan_error_bound(const exactile_plan* plan, double* of_result, double* of_terms);

/**
 * Text into a caller's buffer, ended by a zero byte. *needed, unless NULL, becomes the size that holds all of it, the
 * zero byte included; with a capacity of 0 the buffer may be NULL and only that is done. A capacity that is too small
 * is EXACTILE_INVALID_ARGUMENT, and the buffer then holds "".
 */
EXACTILE_API exactile_status exactile_plan_explain(const exactile_plan* plan, char* buffer, size_t capacity,
                                                   size_t* needed);
/** The same as JSON, schema exactile.explain/1. */
EXACTILE_API exactile_status exactile_plan_explain_json(const exactile_plan* plan, char* buffer, size_t capacity,
                                                        size_t* needed);
/** Every kernel there is, schema exactile.kernels/1. */
EXACTILE_API exactile_status exactile_kernels_json(char* buffer, size_t capacity, size_t* needed);
/** Every device that is looked for, schema exactile.devices/1. */
EXACTILE_API exactile_status exactile_devices_json(char* buffer, size_t capacity, size_t* needed);

/**
 * Brings A or B once into the form that the plan's kernel reads; a run that is given it in place of the pointer leaves
 * the same bits, sooner. `elements` stay where they are and as they are as long as it is used. *prepared is NULL where
 * the call fails.
 */
EXACTILE_API exactile_status exactile_plan_prepare(const exactile_plan* plan, exactile_operand operand,
                                                   const void* elements, const exactile_execution* execution,
                                                   exactile_prepared** prepared);
EXACTILE_API int64_t exactile_prepared_bytes(const exactile_prepared* prepared);
EXACTILE_API void exactile_prepared_destroy(exactile_prepared* prepared);

/**
 * Groups of rows, each with a B of its own: described as a batch of batch_count groups whose m is the number of rows of
 * A and C in all; no bias, activation or D; column scales are n for each group. *plan is NULL where the call fails.
 */
EXACTILE_API exactile_status exactile_grouped_plan_make(const exactile_gemm_description* description,
                                                        const exactile_gemm_options* options,
                                                        exactile_grouped_plan** plan);
EXACTILE_API void exactile_grouped_plan_destroy(exactile_grouped_plan* plan);
/**
 * As exactile_plan_run(). Group g is the rows from offsets[g] to before offsets[g + 1]: batch_count + 1 numbers that
 * ascend from 0 or more to m at most, in the memory of the operands; exactile/grouped.hpp says more.
 */
EXACTILE_API exactile_status exactile_grouped_plan_run(const exactile_grouped_plan* plan,
                                                       const exactile_gemm_arguments* arguments, const int64_t* offsets,
                                                       const exactile_execution* execution);

/** A queue of its own on the backend's device number `device`. *context is NULL where the call fails. */
EXACTILE_API exactile_status exactile_context_make(const char* backend, int32_t device, exactile_context** context);
EXACTILE_API void exactile_context_destroy(exactile_context* context);
/** Fills *execution (its size first) with the context's queue; valid as long as the context or memory of it. */
EXACTILE_API exactile_status exactile_context_execution(const exactile_context* context, exactile_execution* execution);
/** Waits for the work enqueued so far; errors of the device surface here. */
EXACTILE_API exactile_status exactile_context_synchronize(const exactile_context* context);

/** Device memory, freed by exactile_device_memory_destroy() after the work enqueued on its context. */
EXACTILE_API exactile_status exactile_device_memory_make(const exactile_context* context, int64_t bytes,
                                                         exactile_device_memory** memory);
EXACTILE_API void exactile_device_memory_destroy(exactile_device_memory* memory);
/** What exactile_gemm_arguments takes for the element that begins at byte `offset`; NULL for one outside. */
EXACTILE_API void* exactile_device_memory_at(const exactile_device_memory* memory, int64_t offset);
/** Copies return when they are done, after the work enqueued before. */
EXACTILE_API exactile_status exactile_device_memory_upload(exactile_device_memory* memory, const void* from,
                                                           int64_t bytes, int64_t offset);
EXACTILE_API exactile_status exactile_device_memory_download(const exactile_device_memory* memory, void* to,
                                                             int64_t bytes, int64_t offset);

#ifdef __cplusplus
}
#endif

#endif
