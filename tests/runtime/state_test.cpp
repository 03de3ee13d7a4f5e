#include "braid/runtime/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "braid/passes/names.h"
#include "braid/runtime/cpu_backend.h"
#include "io/scratch.h"
#include "thrown.h"

namespace braid::runtime {
namespace {

using Bytes = std::vector<std::byte>;

const KernelTable& no_kernels() {
  static const KernelTable none;
  return none;
}

Slot slot(std::string name, Shape shape, Init init, int64_t members = 0) {
  Slot made{.name = std::move(name), .shape = std::move(shape), .init = init};
  made.members = members;
  return made;
}

std::vector<float> floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Bytes bytes_of(std::vector<float> values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class StateTest : public testing::Test {
 protected:
  State make(const std::vector<Slot>& slots, plan::SlotStorage place = {}) {
    return State(slots, std::vector<plan::SlotStorage>(slots.size(), place),
                 backend_, place.disk ? folder_.path() : "");
  }

  io::ScratchDirectory folder_;
  CpuBackend backend_{no_kernels(), {}};
};

TEST_F(StateTest, BeginsWithZeros) {
  State state = make({slot("w", {3, 4}, Init::constant(7))});
  EXPECT_EQ(floats(state.read(0)), std::vector<float>(12, 0));
}

TEST_F(StateTest, SlotsOfOneMemberAreFoundByTheNameItKnows) {
  Slot own = slot("member.1/w", {2}, Init::uniform(1));
  own.owners = {1};
  State state = make({slot("w2", {2}, Init::uniform(1), 3), own});
  EXPECT_EQ(state.members(), 3);
  EXPECT_EQ(state.find("w", 1), 1);
  EXPECT_EQ(state.find("w", 0), kNone);
  EXPECT_EQ(state.find("w2", 1), 0);
  state.initialise(std::vector<int64_t>{5, 6, 7});
  EXPECT_EQ(state.read_member(1, 1),
            initial_content(slot("w", {2}, Init::uniform(1)), 6));
  state.write_member(1, 1, bytes_of({3, 4}));
  EXPECT_EQ(floats(state.read(1)), (std::vector<float>{3, 4}));
  EXPECT_THROW(state.read_member(1, 0), std::invalid_argument);
  EXPECT_THROW(state.write_member(1, 2, bytes_of({3, 4})),
               std::invalid_argument);
}

TEST_F(StateTest, MembersMayBeginDifferently) {
  Slot rate = slot("p", {}, Init::constant(0), 2);
  rate.inits = {Init::constant(0.25), Init::constant(0.5)};
  rate.owners = {1};
  State state = make({rate});
  state.initialise(std::vector<int64_t>{5, 6});
  EXPECT_EQ(floats(state.read(0)), (std::vector<float>{0.25, 0.5}));
  EXPECT_EQ(floats(state.read_member(0, 1)), std::vector<float>{0.5});
  EXPECT_EQ(state.find("p", 0), kNone);
}

TEST_F(StateTest, InitialContentIsKeyedByNameAndSeed) {
  Slot a = slot("a", {100}, Init::uniform(0.5));
  Slot b = slot("b", {100}, Init::uniform(0.5));
  EXPECT_EQ(initial_content(a, 1), initial_content(a, 1));
  EXPECT_NE(initial_content(a, 1), initial_content(a, 2));
  EXPECT_NE(initial_content(a, 1), initial_content(b, 1));
  Slot longer = slot("a", {150}, Init::uniform(0.5));
  Bytes part = initial_content(longer, 1);
  part.resize(400);
  EXPECT_EQ(part, initial_content(a, 1));
}

TEST_F(StateTest, OrderOfSlotsAndNumberOfMembersDoNotMatter) {
  Init init = Init::normal(2);
  State one = make({slot("a", {9}, init), slot("b", {5}, init)});
  one.initialise(std::vector<int64_t>{42});
  State three = make({slot("b", {5}, init, 3), slot("a", {9}, init, 3)});
  three.initialise(std::vector<int64_t>{7, 42, 8});
  EXPECT_EQ(three.members(), 3);
  EXPECT_EQ(three.read_member(three.find("a"), 1), one.read(one.find("a")));
  EXPECT_EQ(three.read_member(three.find("b"), 1), one.read(one.find("b")));
  EXPECT_NE(three.read_member(0, 0), three.read_member(0, 1));
}

TEST_F(StateTest, RandomContentHasTheStatedMoments) {
  auto moments = [](const Bytes& bytes) {
    double sum = 0, squares = 0;
    std::vector<float> values = floats(bytes);
    for (float v : values) {
      sum += v;
      squares += double(v) * v;
    }
    auto n = static_cast<double>(values.size());
    return std::pair(sum / n, std::sqrt(squares / n));
  };
  auto [normal_mean, normal_std] =
      moments(initial_content(slot("n", {200, 500}, Init::normal(3)), 5));
  EXPECT_NEAR(normal_mean, 0, 0.05);
  EXPECT_NEAR(normal_std, 3, 0.05);
  Bytes uniform = initial_content(slot("u", {200, 500}, Init::uniform(2)), 5);
  auto [mean, std] = moments(uniform);
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(std, 2 / std::sqrt(3.0), 0.02);
  for (float v : floats(uniform)) ASSERT_LE(std::abs(v), 2);
}

TEST_F(StateTest, TheSeedItselfIsKept) {
  Slot seed{.name = passes::kSeedSlot,
            .dtype = DType::kInt64,
            .shape = {},
            .role = Role::kCounter,
            .use = SlotUse::kSeed};
  Bytes bytes = initial_content(seed, 0x1234567890);
  int64_t kept = 0;
  std::memcpy(&kept, bytes.data(), sizeof kept);
  EXPECT_EQ(kept, 0x1234567890);
}

TEST_F(StateTest, MembersAreReadAndWrittenApart) {
  State state = make({slot("w", {2}, Init::constant(1), 3)});
  state.initialise(std::vector<int64_t>{1, 2, 3});
  state.write_member(0, 1, bytes_of({5, 6}));
  EXPECT_EQ(floats(state.read(0)), (std::vector<float>{1, 1, 5, 6, 1, 1}));
  EXPECT_EQ(floats(state.read_member(0, 1)), (std::vector<float>{5, 6}));
}

TEST_F(StateTest, RefusesWrongSizesMembersAndSeeds) {
  State state = make({slot("w", {2}, Init::constant(1), 3)});
  EXPECT_THROW(state.write(0, bytes_of({1, 2})), std::invalid_argument);
  EXPECT_THROW(state.write_member(0, 1, bytes_of({1})), std::invalid_argument);
  EXPECT_THROW(state.write_member(0, 3, bytes_of({1, 2})),
               std::invalid_argument);
  EXPECT_THROW(state.read_member(0, 3), std::invalid_argument);
  EXPECT_THROW(state.read_member(0, -1), std::invalid_argument);
  EXPECT_THROW(state.initialise(std::vector<int64_t>{1}),
               std::invalid_argument);
  EXPECT_EQ(state.find("x"), kNone);
}

// A slot on both sides is written on both.
TEST_F(StateTest, SlotsLieWhereThePlanSays) {
  for (plan::SlotStorage place :
       {plan::SlotStorage{true, false}, plan::SlotStorage{false, true},
        plan::SlotStorage{true, true}}) {
    State state = make({slot("w", {2}, Init::constant(1))}, place);
    EXPECT_EQ(state.device(0) != nullptr, place.device);
    EXPECT_EQ(state.host(0) != nullptr, place.host);
    EXPECT_EQ(backend_.account().used_bytes(), place.device ? 64 : 0);
    EXPECT_EQ(backend_.host_account().used_bytes(), place.host ? 64 : 0);
    state.write(0, bytes_of({3, 4}));
    for (std::byte* where : {state.device(0), state.host(0)}) {
      if (!where) continue;
      EXPECT_EQ(reinterpret_cast<float*>(where)[1], 4);
    }
    EXPECT_EQ(floats(state.read(0)), (std::vector<float>{3, 4}));
  }
  EXPECT_EQ(backend_.account().used_bytes(), 0);
}

constexpr plan::SlotStorage kInFile = {false, false, true};

TEST_F(StateTest, SlotsInAFileTakeNoMemory) {
  State state = make({slot("w", {2, 3}, Init::uniform(1), 4),
                      slot("none", {0}, Init::constant(0))},
                     kInFile);
  EXPECT_TRUE(state.is_in_file(0));
  EXPECT_EQ(backend_.account().used_bytes(), 0);
  EXPECT_EQ(backend_.host_account().used_bytes(), 0);
  EXPECT_EQ(floats(state.read(0)), std::vector<float>(24, 0));
  EXPECT_EQ(state.read(1).size(), 0u);
}

TEST_F(StateTest, SlotsInAFileHoldWhatOthersWouldHold) {
  std::vector<Slot> slots{slot("w", {2, 3}, Init::uniform(1), 4),
                          slot("b", {5}, Init::uniform(2))};
  State state = make(slots, kInFile), other = make(slots);
  for (State* s : {&state, &other}) {
    s->initialise(std::vector<int64_t>{1, 2, 3, 4});
    s->write_member(0, 2, bytes_of({1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(state.read(0), other.read(0));
  EXPECT_EQ(state.read(1), other.read(1));
  for (int64_t member : {0, 2, 3}) {
    EXPECT_EQ(state.read_member(0, member), other.read_member(0, member));
  }
  for (State* s : {&state, &other}) {
    s->write(0, bytes_of(std::vector<float>(24, 8)));
  }
  EXPECT_EQ(state.read(0), other.read(0));
}

TEST_F(StateTest, AFileNeedsAFolder) {
  std::string text = thrown_by<std::invalid_argument>(
      [&] { State({slot("w", {2}, Init::constant(1))}, {kInFile}, backend_); });
  EXPECT_NE(text.find("[spill] the plan keeps 8 B in a file"), text.npos)
      << text;
  EXPECT_NE(text.find("HINT: --spill-dir DIR"), text.npos);
}

TEST_F(StateTest, AConstantBeginsWithItsContent) {
  Slot constant = slot("c", {2}, Init::constant(9));
  constant.role = Role::kConstant;
  constant.content = {
      std::make_shared<const std::vector<std::byte>>(bytes_of({3, 4}))};
  State state = make({constant}, {true, false});
  state.initialise(std::vector<int64_t>{5});
  EXPECT_EQ(floats(state.read(0)), (std::vector<float>{3, 4}));
}

TEST_F(StateTest, AStateThatDoesNotFitLeavesNothingBehind) {
  CpuBackend small(no_kernels(), {.limit_bytes = 100});
  std::vector<Slot> slots{slot("a", {2}, {}), slot("b", {2}, {})};
  EXPECT_THROW(State(slots, {{true, false}, {true, false}}, small),
               std::runtime_error);
  EXPECT_EQ(small.account().used_bytes(), 0);
}

}  // namespace
}  // namespace braid::runtime
