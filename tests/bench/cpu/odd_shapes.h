// Ops of friendly and of odd shapes, which should take about as long for as much work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/ops/op.h"

namespace acceld::bench {

// An op whose operands have no addresses yet.
struct Shaped {
  std::string shape;
  Op op;
};

// The ops of one kind; the first is of a friendly shape.
struct ShapedOps {
  std::string name;
  std::vector<Shaped> ops;
};

std::vector<ShapedOps> OddShapes();

// How much an op is: elements, of all operands or, for reduce, of the input or, for gather and
// scatter, of the rows that move; for products, convolutions and attention floating-point
// operations, but where they are few beside the operands' elements, 32 an element, which is what a
// processor does while it reads or writes one; the exponential of each of attention's scores counts
// as 16. Elements are of 4 bytes.
double WorkOf(const Op& op);

}  // namespace acceld::bench
