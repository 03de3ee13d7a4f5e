#include "braid/base/error.h"

#include <gtest/gtest.h>

namespace braid {
namespace {

template <class Fail>
ErrorParts parts_from(const Fail& fail) {
  try {
    fail();
  } catch (const std::exception& error) {
    return parts_of(error);
  }
  return {};
}

TEST(Errors, KnowWhoSaysWhatAndWhatToDo) {
  ErrorParts parts = parts_from([] {
    fail_usage("[array.add] expected {} classes, got {}\nHINT: give {}", 10, 12,
               "fewer");
  });
  EXPECT_EQ(parts.where, "array.add");
  EXPECT_EQ(parts.text, "expected 10 classes, got 12");
  EXPECT_EQ(parts.hint, "give fewer");
  EXPECT_EQ(parts.message(),
            "[array.add] expected 10 classes, got 12\nHINT: give fewer");
}

TEST(Errors, MayLackEitherEnd) {
  EXPECT_EQ(parts_from([] { fail_world("[io] gone"); }).hint, "");
  ErrorParts plain = parts_from([] { fail_world("gone [twice] over"); });
  EXPECT_EQ(plain.where, "");
  EXPECT_EQ(plain.text, "gone [twice] over");
  EXPECT_EQ(plain.message(), "gone [twice] over");
  // A bracket that does not end.
  EXPECT_EQ(parts_from([] { fail_usage("[open"); }).message(), "[open");
}

TEST(Errors, AreOfTheStandardKinds) {
  EXPECT_THROW(fail_usage("[a] b"), std::invalid_argument);
  EXPECT_THROW(fail_world("[a] b"), std::runtime_error);
  EXPECT_THROW(fail_defect("[a] b"), DefectError);
  EXPECT_THROW(fail_defect("[a] b"), std::logic_error);
  try {
    fail_defect("[a] b");
  } catch (const std::invalid_argument&) {
    FAIL() << "a defect is nobody's usage";
  } catch (const std::logic_error&) {
  }
}

TEST(Errors, OfOthersAreAllText) {
  ErrorParts parts = parts_of(std::runtime_error("[x] y\nHINT: z"));
  EXPECT_EQ(parts.where, "");
  EXPECT_EQ(parts.text, "[x] y\nHINT: z");
}

}  // namespace
}  // namespace braid
