// SPDX-License-Identifier: Apache-2.0
// may_share() against the bytes themselves: it may err on the side of sharing, never on the other.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "plan/overlap.hpp"

namespace exactile::plan {
namespace {

struct Operand {
  OperandLayout layout;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t products;
  ElementType type;
  std::int64_t offset;  ///< bytes

  [[nodiscard]] Footprint print() const { return footprint(layout, rows, columns, products, type); }

  void mark(std::vector<bool>& bytes) const {
    const std::int64_t size = size_in_bytes(type);
    for (std::int64_t p = 0; p < products; ++p)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t element = p * layout.batch_stride + i * layout.row_stride + j * layout.column_stride;
          for (std::int64_t s = 0; s < size; ++s) bytes[static_cast<std::size_t>(offset + element * size + s)] = true;
        }
  }
};

constexpr std::int64_t middle = 1 << 15;
constexpr std::size_t space = 2 * middle;

bool share(const Operand& x, const Operand& y) {
  std::vector<bool> of_x(space);
  std::vector<bool> of_y(space);
  x.mark(of_x);
  y.mark(of_y);
  for (std::size_t byte = 0; byte < space; ++byte)
    if (of_x[byte] && of_y[byte]) return true;
  return false;
}

bool said_to_share(const Operand& x, const Operand& y) {
  static const std::vector<char> memory(space);
  return may_share(memory.data() + x.offset, x.print(), memory.data() + y.offset, y.print());
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t one_of(const std::vector<std::int64_t>& values) { return values[engine_() % values.size()]; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// Strides of few values, so that two operands often have one in common.
  Operand operand() {
    const std::vector<std::int64_t> strides{-24, -12, -2, -1, 0, 1, 2, 3, 6, 12, 24, 25, 72};
    return {.layout = {one_of(strides), one_of(strides), one_of(strides)},
            .rows = between(1, 5),
            .columns = between(1, 5),
            .products = between(1, 5),
            .type = between(0, 3) == 0 ? ElementType::f16 : ElementType::f32,
            .offset = middle + between(-150, 150) * between(1, 4)};
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Footprints, NeverSaidToBeApartWhereTheyShare) {
  Draw draw(1);
  int shared = 0;
  int apart = 0;
  int told_apart = 0;
  for (int round = 0; round < 20000; ++round) {
    const Operand x = draw.operand();
    const Operand y = draw.operand();
    const bool truth = share(x, y);
    const bool said = said_to_share(x, y);
    ++(truth ? shared : apart);
    told_apart += said ? 0 : 1;
    ASSERT_TRUE(said || !truth) << "round " << round;
    ASSERT_EQ(said, said_to_share(y, x)) << "round " << round;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(told_apart, apart / 2);
}

TEST(Footprints, PairsAreTriedUpToABound) {
  // Products of 4 x 4 side by side with a stride that is no multiple of their rows': only two by two.
  const std::vector<char> memory(1 << 20);
  const auto told = [&](std::int64_t products) {
    const Operand x{{8, 1, 35}, 4, 4, products, ElementType::f32, 0};
    return !may_share(memory.data(), x.print(), memory.data() + 16, x.print());
  };
  EXPECT_TRUE(told(2));
  EXPECT_TRUE(told(2000));
  EXPECT_FALSE(told(3000));
}

}  // namespace
}  // namespace exactile::plan
