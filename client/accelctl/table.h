// A table of text with aligned columns.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace acceld::accelctl {

// `text` with each control character replaced by a question mark: what a daemon or another client
// says must not steer the terminal.
std::string Printable(std::string_view text);

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Has a cell for each column, in UTF-8.
  void AddRow(std::vector<std::string> cells);

  // The titles and the rows, a line each; no line ends with a space.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace acceld::accelctl
