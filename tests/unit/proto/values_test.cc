// The enums of values.proto are those of backends/core/values.h.
#include "backends/core/values.h"

#include <set>
#include <string>

#include "acceld/v1/values.pb.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::GetEnumDescriptor;

// "DataType" -> "DATA_TYPE", "host-pinned" -> "HOST_PINNED".
std::string UpperSnake(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z' && !result.empty()) result += '_';
    if (c == '-') c = '_';
    result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return result;
}

template <typename E>
std::string ProtoName(E value) {
  return UpperSnake(Name(value));
}

// BLAS's letters are no names for a value.
std::string ProtoName(Transpose value) {
  switch (value) {
    case Transpose::kNone:
      return "NONE";
    case Transpose::kTranspose:
      return "TRANSPOSE";
    case Transpose::kConjugateTranspose:
      return "CONJUGATE_TRANSPOSE";
  }
  return "";
}

// An enum of the structs and its counterpart of the wire.
template <typename Struct, typename Wire>
struct EnumPair {
  using StructEnum = Struct;
  using WireEnum = Wire;
};

using EnumPairs =
    testing::Types<EnumPair<DataType, v1::DataType>, EnumPair<Transpose, v1::Transpose>,
                   EnumPair<ReduceOp, v1::ReduceOp>, EnumPair<UnaryOp, v1::UnaryOp>,
                   EnumPair<BinaryOp, v1::BinaryOp>, EnumPair<MixedPrecision, v1::MixedPrecision>>;

template <typename Pair>
class ValuesTest : public testing::Test {};
TYPED_TEST_SUITE(ValuesTest, EnumPairs);

TYPED_TEST(ValuesTest, NumbersAndNamesAreEqual) {
  using E = typename TypeParam::StructEnum;
  const EnumDescriptor& wire = *GetEnumDescriptor<typename TypeParam::WireEnum>();
  for (const auto& entry : EnumTable<E>::kEntries) {
    const auto* value = wire.FindValueByNumber(static_cast<int>(entry.value));
    ASSERT_NE(value, nullptr) << entry.name;
    EXPECT_EQ(value->name(), UpperSnake(wire.name()) + "_" + ProtoName(entry.value));
  }
}

TYPED_TEST(ValuesTest, BesidesTheStructsValuesThereIsOnlyUnspecified) {
  using E = typename TypeParam::StructEnum;
  const EnumDescriptor& wire = *GetEnumDescriptor<typename TypeParam::WireEnum>();
  EXPECT_EQ(static_cast<std::size_t>(wire.value_count()), EnumTable<E>::kEntries.size() + 1);
  ASSERT_NE(wire.FindValueByNumber(0), nullptr);
  EXPECT_EQ(wire.FindValueByNumber(0)->name(), UpperSnake(wire.name()) + "_UNSPECIFIED");
  EXPECT_FALSE(IsValid(E{0}));
}

template <typename... Pairs>
std::set<std::string> WireNames(testing::Types<Pairs...>) {
  return {GetEnumDescriptor<typename Pairs::WireEnum>()->name()...};
}

TEST(ValuesFileTest, HasNoEnumThatIsNotComparedHere) {
  const auto& file = *GetEnumDescriptor<v1::DataType>()->file();
  std::set<std::string> names;
  for (int i = 0; i < file.enum_type_count(); ++i) names.insert(file.enum_type(i)->name());
  EXPECT_EQ(names, WireNames(EnumPairs{}));
}

}  // namespace
}  // namespace acceld
