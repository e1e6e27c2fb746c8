#include "backends/ops/op.h"

#include <array>
#include <utility>

namespace acceld {
namespace {

template <typename Variant>
struct Alternatives;
template <typename... OpTypes>
struct Alternatives<std::variant<OpTypes...>> {
  static_assert((IsOp<OpTypes> && ...), "An op has all members that the concept IsOp names.");
  static constexpr std::array<std::string_view, sizeof...(OpTypes)> kNames{OpTypes::kName...};
};

}  // namespace

std::string_view OpName(std::size_t index) {
  return index < kOpCount ? Alternatives<Op>::kNames[index] : std::string_view();
}

std::string_view OpName(const Op& op) { return OpName(op.index()); }

OpClass ClassOf(const Op& op) {
  return std::visit([](const auto& typed) { return typed.kClass; }, op);
}

bool AllowsInPlace(const Op& op) {
  return std::visit([](const auto& typed) { return typed.kInPlace; }, op);
}

absl::Status CheckParameters(const Op& op) {
  return std::visit([](const auto& typed) { return typed.Check(); }, op);
}

OperandList OperandsOf(Op& op) {
  return std::visit([](auto& typed) { return typed.Operands(); }, op);
}

double FlopsOf(const Op& op) {
  return std::visit([](const auto& typed) { return typed.Flops(); }, op);
}

std::size_t OpIndex(std::string_view name) {
  std::size_t index = 0;
  while (index < kOpCount && OpName(index) != name) ++index;
  return index;
}

std::uint64_t ListBytesOf(const Op& op) {
  return std::visit(
      [](const auto& typed) -> std::uint64_t {
        if constexpr (requires { typed.indices.capacity(); }) {
          return typed.indices.capacity() * sizeof(typed.indices[0]);
        } else {
          return 0;
        }
      },
      op);
}

double BytesOf(Op& op) {
  double bytes = 0;
  for (const Operand& operand : OperandsOf(op))
    bytes += static_cast<double>(operand.ElementBytes());
  return bytes;
}

}  // namespace acceld
