// SPDX-License-Identifier: Apache-2.0
/// \file The functions of {fmt}, compiled once; every other file only declares them, which spares three seconds a file.
/// They are compiled here, and not linked, so that whoever links the archive needs no package for it. All of them are
/// weak: beside a program's own copy of the same version there is no second definition.
#define FMT_API __attribute__((weak))
// No text here is a locale's, and all of them would come with it.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

// What format.h declares as `extern template`, and templates that it leaves to this file.
FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
}  // namespace detail
FMT_END_NAMESPACE
