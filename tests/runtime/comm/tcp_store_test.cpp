#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "braid/runtime/comm/store.h"
#include "thrown.h"

namespace braid::runtime {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Store> connect(int port, const std::string& prefix = "test") {
  return connect_store({"127.0.0.1", port}, prefix, milliseconds(2000));
}

void check_words(Store& store) {
  EXPECT_FALSE(store.get("a"));
  EXPECT_FALSE(store.replace("a", "other", "x"));
  EXPECT_FALSE(store.get("a"));
  EXPECT_TRUE(store.replace("a", "", "x"));
  EXPECT_EQ(store.get("a"), "x");
  EXPECT_FALSE(store.replace("a", "", "y"));
  EXPECT_TRUE(store.replace("a", "x", "y"));
  EXPECT_EQ(store.get("a"), "y");
}

TEST(Stores, OfOneProcess) {
  LocalStore store;
  check_words(store);
}

TEST(Stores, OverANetwork) {
  auto host = host_store(0);
  auto one = connect(host->port()), two = connect(host->port());
  check_words(*one);
  EXPECT_EQ(two->get("a"), "y");
  auto other = connect(host->port(), "other");
  EXPECT_FALSE(other->get("a"));
}

TEST(Stores, ThatAreGoneAreNamed) {
  int port = 0;
  std::unique_ptr<Store> store;
  {
    auto host = host_store(0);
    port = host->port();
    store = connect(port);
    EXPECT_TRUE(store->replace("a", "", "x"));
  }
  EXPECT_THAT(thrown_by<std::runtime_error>([&] { store->get("a"); }),
              testing::HasSubstr("does not answer"));
  EXPECT_THROW(connect(port), std::runtime_error);
  // One that is begun anew is found again, and knows nothing.
  auto host = host_store(port);
  EXPECT_FALSE(store->get("a"));
}

TEST(Stores, APortThatIsTakenIsNamed) {
  auto host = host_store(0);
  EXPECT_THAT(thrown_by<std::runtime_error>([&] { host_store(host->port()); }),
              testing::HasSubstr("cannot be had"));
}

}  // namespace
}  // namespace braid::runtime
