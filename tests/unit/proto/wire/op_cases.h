// Every op once, valid and with no field at its default, as a struct and as text of acceld.v1.Op.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "acceld/v1/op.pb.h"
#include "backends/ops/op.h"

namespace acceld {

struct OpCase {
  Op op;
  std::string text;

  // `text` as a message.
  v1::Op Wire() const;

  friend void PrintTo(const OpCase& op_case, std::ostream* stream) { *stream << op_case.text; }
};

const std::vector<OpCase>& OpCases();

}  // namespace acceld
