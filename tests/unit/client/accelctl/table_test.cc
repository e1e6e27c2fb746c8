#include "client/accelctl/table.h"

#include "gtest/gtest.h"

namespace acceld::accelctl {
namespace {

TEST(Table, AlignsItsColumns) {
  Table table({{.title = "NAME"}, {.title = "BYTES", .align = Table::Align::kRight}});
  table.AddRow({"a", "1234567"});
  table.AddRow({"longer", "8"});
  EXPECT_EQ(table.ToString(),
            "NAME      BYTES\n"
            "a       1234567\n"
            "longer        8\n");
}

TEST(Table, LinesDoNotEndWithSpaces) {
  Table table({{.title = "A"}, {.title = "B"}});
  table.AddRow({"long", ""});
  table.AddRow({"", ""});
  EXPECT_EQ(table.ToString(), "A     B\nlong\n\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table({{.title = "A"}, {.title = "B"}});
  table.AddRow({"\xC2\xAE\xC2\xAE", "1"});
  EXPECT_EQ(table.ToString(), "A   B\n\xC2\xAE\xC2\xAE  1\n");
}

TEST(Table, ShowsNoControlCharacters) {
  Table table({{.title = "A"}});
  table.AddRow({"\x1B[2Ja\nb\x7F"});
  EXPECT_EQ(table.ToString(), "A\n?[2Ja?b?\n");
}

}  // namespace
}  // namespace acceld::accelctl
