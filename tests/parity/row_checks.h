// What the tests of rows share: names of tests, and results that are near.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "run_row.h"

namespace braid::parity {

// The text with what a test's name may not have replaced.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

inline std::string row_name(const testing::TestParamInfo<Row>& info) {
  return test_name(info.param.op + "_" + info.param.note + "_" +
                   std::to_string(info.index));
}

inline void expect_near(const Results& a, const Results& b, double limit) {
  for (const auto& [name, value] : b) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(a.contains(name));
    ASSERT_EQ(a.at(name).sizes(), value.sizes());
    EXPECT_LE(difference(a.at(name), value), limit);
  }
}

// A row alone against libtorch, again with the same bits (in memory that holds
// what the first run left), and as an array of three against each alone.
inline void expect_parity(const Row& row, DType dtype, DType precision,
                          runtime::Backend& backend, double limit) {
  std::vector<Tensors> inputs;
  for (int64_t m = 0; m < 3; ++m) {
    inputs.push_back(random_inputs(row, dtype, m));
  }
  PreparedRow alone(row, {inputs[0]}, dtype, backend, false, precision);
  std::vector<Results> solo;
  for (const Tensors& one : inputs) solo.push_back(alone.run({one})[0]);
  expect_near(solo[0], run_reference(row, inputs[0]), limit);
  expect_near(alone.run({inputs[0]})[0], solo[0], 0);
  auto members = run_braid(row, inputs, dtype, backend, true, precision);
  for (size_t m = 0; m < 3; ++m) {
    SCOPED_TRACE(m);
    expect_near(members[m], solo[m], limit);
  }
}

}  // namespace braid::parity
