// SPDX-License-Identifier: Apache-2.0
#include "blas/errors.hpp"

#include <array>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "blas/export.hpp"

namespace exactile::blas {

void report_parameter(const char* name, std::int32_t parameter, int rows) {
  CBLAS_CallFromC = rows == from_fortran ? 0 : 1;
  RowMajorStrg = rows == 1 ? 1 : 0;
  xerbla_(name, &parameter, std::strlen(name));
  CBLAS_CallFromC = 0;
  RowMajorStrg = 0;
}

void stop(std::string_view message) noexcept {
  std::fprintf(stderr, "exactile: %.*s\n", static_cast<int>(message.size()), message.data());
  std::abort();
}

namespace {

struct Exchange {
  std::string_view routine;
  int one;
  int other;
};

/// In row-major order the Fortran routine is called with these parameters of the C routine in each other's place.
constexpr std::array exchanges{Exchange{"gemm", 4, 5}, Exchange{"gemm", 9, 11}, Exchange{"symm", 4, 5},
                               Exchange{"hemm", 4, 5}, Exchange{"trmm", 6, 7},  Exchange{"trsm", 6, 7},
                               Exchange{"gemv", 3, 4}, Exchange{"gbmv", 3, 4},  Exchange{"gbmv", 5, 6},
                               Exchange{"ger", 2, 3},  Exchange{"ger", 6, 8},   Exchange{"her2_", 6, 8},
                               Exchange{"hpr2", 6, 8}};

int c_parameter(int parameter, std::string_view routine) {
  for (const Exchange& exchange : exchanges) {
    const bool applies = exchange.routine == "her2_"
                             ? routine.find("her2") != routine.npos && routine.find("her2k") == routine.npos
                             : routine.find(exchange.routine) != routine.npos;
    if (applies && parameter == exchange.one) return exchange.other;
    if (applies && parameter == exchange.other) return exchange.one;
  }
  return parameter;
}

}  // namespace
}  // namespace exactile::blas

extern "C" {

EXACTILE_EXPORT int RowMajorStrg = 0;
EXACTILE_EXPORT int CBLAS_CallFromC = 0;

/// Says what is wrong and ends the program, as the reference's does. A call by way of CBLAS is told in CBLAS's terms.
EXACTILE_EXPORT __attribute__((weak)) void xerbla_(const char* routine, const std::int32_t* parameter,
                                                   std::size_t length) {
  std::string_view name(routine, strnlen(routine, length));
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  if (CBLAS_CallFromC != 0) {
    std::array<char, 32> c_name{"cblas_"};
    for (std::size_t i = 0; i < name.size() && i < 20; ++i)
      c_name[6 + i] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    cblas_xerbla(*parameter + 1, c_name.data(), "");
    return;
  }
  std::fprintf(stderr, " ** On entry to %.*s parameter number %2d had an illegal value\n",
               static_cast<int>(name.size()), name.data(), *parameter);
  std::exit(EXIT_FAILURE);
}

EXACTILE_EXPORT __attribute__((weak)) void cblas_xerbla(int parameter, const char* routine, const char* format, ...) {
  if (RowMajorStrg != 0) parameter = exactile::blas::c_parameter(parameter, routine);
  if (parameter != 0) std::fprintf(stderr, "Parameter %d to routine %s was incorrect\n", parameter, routine);
  std::va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::exit(EXIT_FAILURE);
}

}  // extern "C"
