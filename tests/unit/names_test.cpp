// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "exactile/exactile.hpp"
#include "verification/verification.hpp"

namespace exactile {
namespace {

constexpr ElementType all_types[] = {ElementType::f64,    ElementType::f32,    ElementType::f16,  ElementType::bf16,
                                     ElementType::f8e4m3, ElementType::f8e5m2, ElementType::i64,  ElementType::i32,
                                     ElementType::i8,     ElementType::cf64,   ElementType::cf32, ElementType::u8,
                                     ElementType::i16};

TEST(Names, GemmTypesSurviveTheirText) {
  std::set<std::string> names;
  for (const GemmTypes types : all_gemm_types()) {
    EXPECT_TRUE(names.insert(to_string(types)).second) << to_string(types);
    const auto parsed = parse_gemm_types(to_string(types));
    ASSERT_TRUE(parsed.has_value()) << to_string(types);
    EXPECT_EQ(*parsed, types);
  }
  EXPECT_EQ(names.size(), 20U);
}

TEST(Names, GemmTypesThatThereAre) {
  const std::set<std::string> expected{"f64",       "f32",         "f16",          "f16->f32",    "bf16",
                                       "bf16->f32", "f8e4m3->f32", "f8e4m3->bf16", "f8e5m2->f32", "f8e5m2->bf16",
                                       "i64",       "i32",         "i8->i32",      "cf64",        "cf32",
                                       "u8->i32",   "u8xi8->i32",  "i8xu8->i32",   "i16->i32",    "i32->i64"};
  std::set<std::string> names;
  for (const GemmTypes types : all_gemm_types()) names.insert(to_string(types));
  EXPECT_EQ(names, expected);
}

TEST(Names, ShortTypeNames) {
  EXPECT_EQ(parse_gemm_types("i8"), (GemmTypes{ElementType::i8, ElementType::i32}));
  EXPECT_EQ(parse_gemm_types("f8e4m3"), (GemmTypes{ElementType::f8e4m3, ElementType::f32}));
  EXPECT_EQ(parse_gemm_types("f8e5m2"), (GemmTypes{ElementType::f8e5m2, ElementType::f32}));
  EXPECT_EQ(parse_gemm_types("u8"), (GemmTypes{ElementType::u8, ElementType::i32}));
  EXPECT_EQ(parse_gemm_types("i8xu8"), (GemmTypes{ElementType::i8, ElementType::i32, ElementType::u8}));
  EXPECT_EQ(parse_gemm_types("i16"), (GemmTypes{ElementType::i16, ElementType::i32}));
  EXPECT_EQ(parse_gemm_types("i32"), (GemmTypes{ElementType::i32, ElementType::i32}));
  for (const char* wrong : {"", "u8xu8->i32", "u8x", "i8xi16->i32", "f3", "f32 ", "F32", "float", "f32->f64", "i8->i8",
                            "->", "f32->", "f16->bf16"})
    EXPECT_FALSE(parse_gemm_types(wrong).has_value()) << wrong;
}

TEST(Names, AccuracyAndFills) {
  for (const Accuracy accuracy :
       {Accuracy::reduced, Accuracy::standard, Accuracy::compensated, Accuracy::correctly_rounded})
    EXPECT_EQ(parse_accuracy(to_string(accuracy)), accuracy);
  EXPECT_FALSE(parse_accuracy("exact").has_value());
  for (const verification::Fill fill : verification::fills_for(ElementType::f32))
    EXPECT_EQ(verification::parse_fill(to_string(fill)), fill);
  EXPECT_FALSE(verification::parse_fill("random").has_value());
}

TEST(Names, EveryEnumeratorHasItsOwn) {
  std::set<std::string_view> types;
  for (const ElementType type : all_types) EXPECT_TRUE(types.insert(to_string(type)).second);
  std::set<std::string_view> codes;
  for (const StatusCode code : {StatusCode::ok, StatusCode::invalid_argument, StatusCode::unknown_name,
                                StatusCode::unsupported, StatusCode::not_yet_available, StatusCode::out_of_memory,
                                StatusCode::device_unavailable, StatusCode::device_failure})
    EXPECT_TRUE(codes.insert(to_string(code)).second);
}

TEST(Names, PropertiesOfTypes) {
  EXPECT_EQ(unit_roundoff(ElementType::f64), 0x1p-53);
  EXPECT_EQ(unit_roundoff(ElementType::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(ElementType::cf32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(ElementType::cf64), 0x1p-53);
  EXPECT_EQ(unit_roundoff(ElementType::f16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(ElementType::bf16), 0x1p-8);
  EXPECT_EQ(unit_roundoff(ElementType::f8e4m3), 0x1p-4);
  EXPECT_EQ(unit_roundoff(ElementType::f8e5m2), 0x1p-3);
  EXPECT_EQ(unit_roundoff(ElementType::i32), 0);
  EXPECT_EQ(accumulator_type(ElementType::i8), ElementType::i32);
  EXPECT_EQ(accumulator_type(ElementType::u8), ElementType::i32);
  EXPECT_EQ(accumulator_type(ElementType::i16), ElementType::i32);
  EXPECT_EQ(accumulator_type({ElementType::i32, ElementType::i64}), ElementType::i64);
  EXPECT_EQ(accumulator_type({ElementType::i32, ElementType::i32}), ElementType::i32);
  EXPECT_EQ(accumulator_type({ElementType::bf16, ElementType::bf16}), ElementType::f32);
  EXPECT_EQ(accumulator_type(ElementType::bf16), ElementType::f32);
  EXPECT_EQ(accumulator_type(ElementType::cf64), ElementType::cf64);
  EXPECT_EQ(size_in_bytes(ElementType::cf64), 16);
  EXPECT_EQ(size_in_bytes(ElementType::u8), 1);
  EXPECT_EQ(size_in_bytes(ElementType::i16), 2);
  EXPECT_EQ(size_in_bytes(ElementType::f8e5m2), 1);
  EXPECT_TRUE(is_floating(ElementType::cf32) && is_floating(ElementType::f8e4m3) && !is_floating(ElementType::i64));
  EXPECT_TRUE(is_complex(ElementType::cf32) && !is_complex(ElementType::f64));
  EXPECT_EQ(operation_count({ElementType::f32, ElementType::f32}, 10, 20, 30), 12000.0);
  EXPECT_EQ(operation_count({ElementType::cf32, ElementType::cf32}, 10, 20, 30), 48000.0);
}

TEST(Names, Gamma) {
  EXPECT_EQ(gamma(0, 0x1p-24), 0.0);
  EXPECT_EQ(gamma(2, 0.25), 1.0);
  EXPECT_EQ(gamma(4, 0.25), std::numeric_limits<double>::infinity());
  EXPECT_EQ(gamma(std::int64_t{1} << 62, 0x1p-24), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace exactile
