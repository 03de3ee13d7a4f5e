#include "braid/base/csv_reader.h"

#include <gtest/gtest.h>

namespace braid {
namespace {

std::vector<std::vector<std::string>> rows_of(std::string_view text,
                                              char separator = ',') {
  CsvReader reader(text, separator, "csv", "file");
  std::vector<std::vector<std::string>> rows;
  for (std::vector<std::string> cells; reader.next(cells);) {
    rows.push_back(cells);
  }
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(CsvReader, ReadsCells) {
  EXPECT_EQ(rows_of("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of("a,b\r\n\r\n1,\r\n"), (Rows{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(rows_of("a\n\n\nb"), (Rows{{"a"}, {"b"}}));
  EXPECT_EQ(rows_of("1;2", ';'), (Rows{{"1", "2"}}));
  EXPECT_EQ(rows_of("\xEF\xBB\xBF"
                    "a,b"),
            (Rows{{"a", "b"}}));
  EXPECT_EQ(rows_of(""), Rows{});
}

TEST(CsvReader, ReadsQuotes) {
  EXPECT_EQ(rows_of("\"a,b\",\"c \"\"d\"\"\"\n\"\",x"),
            (Rows{{"a,b", "c \"d\""}, {"", "x"}}));
  EXPECT_EQ(rows_of("\"two\nlines\",1\n2,3"),
            (Rows{{"two\nlines", "1"}, {"2", "3"}}));
  EXPECT_THROW(rows_of("\"open"), std::runtime_error);
  EXPECT_THROW(rows_of("\"a\"b,1"), std::runtime_error);
}

}  // namespace
}  // namespace braid
