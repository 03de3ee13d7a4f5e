// Tables as text: x is a row of numbers, y a label or a number. csv_table.cpp
// reads the cells, csv_labels.cpp makes classes of labels.
#include <span>

#include "braid/data/csv_labels.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

constexpr Element kFloat = {Element::Kind::kFloat, 4};
constexpr Element kWhole = {Element::Kind::kSigned, 8};

struct Kept {
  CsvTable table;
  CsvClasses classes;
};

class Columns {
 public:
  Columns(const Kept& kept, const std::string& file)
      : kept_(kept), file_(file) {}

  std::vector<Column> make() {
    const TableValues& values = kept_.table.values;
    if (values.x_width > 0) add("x", kFloat, values.x, values.x_width);
    if (values.codes_width > 0) {
      add("codes", kWhole, values.codes, values.codes_width);
      columns_.back().classes = values.num_codes;
    }
    columns_.front().table = kept_.table.facts;
    add_label();
    return std::move(columns_);
  }

 private:
  template <class T>
  void add(const std::string& field, Element element,
           const std::vector<T>& values, int64_t width = 0) {
    Shape shape = {static_cast<int64_t>(kept_.table.lines.size())};
    if (width > 0) shape.push_back(width);
    columns_.push_back({.field = field,
                        .element = element,
                        .shape = shape,
                        .bytes = std::as_bytes(std::span(values)),
                        .file = file_,
                        .is_finite = true,
                        .lines = kept_.table.lines});
  }

  void add_label() {
    if (!kept_.table.y_numbers.empty()) {
      add("y", kFloat, kept_.table.y_numbers);
    } else if (kept_.table.label) {
      add("y", kWhole, kept_.classes.numbers);
      columns_.back().class_names = kept_.classes.names;
      columns_.back().classes = kept_.classes.count;
    }
  }

  const Kept& kept_;
  const std::string& file_;
  std::vector<Column> columns_;
};

DatasetPtr open_csv(const Options& options, const Opening& opening) {
  std::string path = options.path("file").string();
  io::MappedFile file(options.path("file"));
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  CsvReader reader(text, separator_of(options), options.who(), path);
  auto kept = std::make_shared<Kept>();
  kept->table = read_csv_table(options, opening, reader, reader);
  file.check();
  kept->classes = number_labels(options, opening, reader, kept->table);
  return rows_dataset(options.who(), Columns(*kept, path).make(), 0, kept);
}

std::vector<Option> csv_options() {
  std::vector<Option> options = {
      {"file", Kind::kPath, "", "to read", {}, true}};
  for (Option& option : csv_table_options()) options.push_back(option);
  options.push_back({"names", Kind::kNames, "",
                     "labels in the order of their classes; else whole numbers "
                     "stay and other labels are sorted"});
  options.push_back({"classes", Kind::kCount, "0",
                     "how many there are; 0: as many as the file shows"});
  return options;
}

}  // namespace

Source csv_source() {
  return {.name = "csv",
          .summary = "a table as text",
          .fields = "x f32 [columns], y i64 (or f32)",
          .options = csv_options(),
          .open_with = open_csv};
}

}  // namespace braid::data
