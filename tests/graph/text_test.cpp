#include "braid/graph/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "braid/graph/var.h"
#include "fake_rules.h"
#include "thrown.h"

namespace braid {
namespace {

const char* const kSample =
    R"(braid-graph 1
slot "fc.weight" f32[5, 3] parameter uniform(-0.25, 0.25)
slot "bn.mean" f32[4] buffer constant(0.0) members=2 alias="x" alias="y" frozen
slot "m" bf16[] optimizer normal(0.0, 1e-05)
slot "t" f64[2] parameter trunc_normal(0.0, 1.0, -2.0, inf)
slot "k" f32[5, 3] parameter kaiming_uniform(0.5, 1.0)
slot "q" f32[5, 3] parameter orthogonal(2.0)
slot "d" f32[5, 3, 3] parameter dirac()
slot "constant/1" i16[2] constant constant(0.0) content="0100ff7f"
input %0 "x" f32[4, 3]
input %1 "mask" bool[4] strides[2] offset=1
%2: f32[5, 3] = read "fc.weight" @"fc"
%3: f32[4, 5] = linear(%0, %2, _) {eps=1.0, members=1, mode="\"", on=true} @"f"
%4: f32[4, 5] = dropout(%3) {p=0.5} @"drop" segment=3 rng=0x12ab
%5 "top": f32[4], %6: i64[4] = max(%4)
%7: f32[5, 4] strides[1, 5] offset=4 = transpose(%4) backward segment=-1
%8: f32[2, 4] = zeros() {shape=[2, 4]} update
accumulate "bn.mean" (%8) @"bn" update
assign "bn.mean" (%8) update
print(%8, _) update
output "loss" %5
output "top" %5
)";

class TextTest : public testing::Test {
 protected:
  Graph parse(std::string_view text) { return parse_graph(text, rules_); }
  Graph again(const Graph& graph) { return parse(print_graph(graph)); }

  std::string problem_of(std::string_view text) {
    return thrown_by([&] { parse(text); });
  }

  FakeRules rules_;
};

TEST_F(TextTest, PrintsExactlyWhatItReads) {
  EXPECT_EQ(print_graph(parse(kSample)), kSample);
}

TEST_F(TextTest, AnEmptyGraphIsItsFirstLine) {
  EXPECT_EQ(print_graph(Graph(rules_)), "braid-graph 1\n");
  EXPECT_TRUE(parse("braid-graph 1").nodes().empty());
}

TEST_F(TextTest, SlotsComeBackWhole) {
  Graph graph(rules_);
  for (Role role : {Role::kParameter, Role::kBuffer, Role::kOptimizer,
                    Role::kGradient, Role::kCounter, Role::kHyper}) {
    graph.add_slot({.name = std::string(role_name(role)),
                    .aliases = {"a" + std::string(role_name(role))},
                    .dtype = DType::kInt64,
                    .shape = {2, 0},
                    .role = role,
                    .init = {Init::Kind::kTruncNormal, 0.1, 0.2, 0.3, 0.4},
                    .trainable = role != Role::kBuffer,
                    .members = 3});
  }
  EXPECT_EQ(again(graph).slots(), graph.slots());
}

TEST_F(TextTest, ContentsComeBackWholeOrAreRefused) {
  auto bytes_of = [](size_t count) {
    return std::make_shared<const std::vector<std::byte>>(count, std::byte{7});
  };
  Graph graph(rules_);
  graph.add_slot({.name = "c",
                  .dtype = DType::kUInt8,
                  .shape = {4096},
                  .role = Role::kConstant,
                  .content = {bytes_of(4096)}});
  EXPECT_EQ(again(graph).slots(), graph.slots());
  graph.slot(0).shape = {4097};
  graph.slot(0).content = {bytes_of(4097)};
  EXPECT_NE(problem_of(print_graph(graph)).find("too large for a text"),
            std::string::npos);
}

TEST_F(TextTest, NodesComeBackWhole) {
  Graph graph = parse(kSample);
  const Node& linear = graph.node(1);
  EXPECT_EQ(linear.op->name, "linear");
  EXPECT_EQ(linear.inputs, (std::vector<ValueId>{0, 2, kNone}));
  EXPECT_EQ(linear.path, "f");
  EXPECT_EQ(linear.attrs, (Attrs{{"eps", 1.0},
                                 {"members", int64_t{1}},
                                 {"mode", std::string("\"")},
                                 {"on", true}}));
  EXPECT_EQ(graph.node(0).slot, graph.find_slot("fc.weight"));
  EXPECT_EQ(graph.node(2).rng_key, 0x12abu);
  EXPECT_EQ(graph.node(2).segment, 3);
  EXPECT_EQ(graph.node(4).segment, -1);
  EXPECT_EQ(graph.node(5).segment, 0);
  EXPECT_EQ(graph.node(4).phase, Phase::kBackward);
  EXPECT_EQ(graph.node(6).phase, Phase::kUpdate);
}

TEST_F(TextTest, ValuesComeBackWhole) {
  Graph graph = parse(kSample);
  EXPECT_EQ(graph.value(1).strides, Strides{2});
  EXPECT_EQ(graph.value(1).offset, 1);
  EXPECT_EQ(graph.value(5).name, "top");
  EXPECT_EQ(graph.value(7).strides, (Strides{1, 5}));
  EXPECT_EQ(graph.value(7).offset, 4);
  EXPECT_EQ(graph.inputs(), (std::vector<ValueId>{0, 1}));
  EXPECT_EQ(graph.find_output("loss"), 5);
}

TEST_F(TextTest, AttributesKeepTypeAndBits) {
  using Limits = std::numeric_limits<double>;
  std::vector<Attr> attrs = {true,
                             false,
                             int64_t{0},
                             std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max(),
                             std::string("1"),
                             std::string("true"),
                             std::string(),
                             Ints{},
                             Ints{-1, 2}};
  for (double number :
       {0.0, -0.0, 1.0, -3.0, 0.1, 1e22, 1e16, 123456789012345678.0, 1e-300,
        Limits::min(), Limits::max(), Limits::denorm_min(), Limits::epsilon(),
        Limits::infinity(), -Limits::infinity(), std::nextafter(1.0, 2.0)}) {
    attrs.push_back(number);
  }
  for (const Attr& attr : attrs) {
    Graph graph(rules_);
    graph.add("zeros", {}, {{"a", attr}, {"shape", Ints{}}});
    Attr back = *again(graph).node(0).attrs.find("a");
    EXPECT_EQ(back, attr) << print_graph(graph);
    if (const double* number = std::get_if<double>(&attr)) {
      EXPECT_EQ(std::bit_cast<uint64_t>(std::get<double>(back)),
                std::bit_cast<uint64_t>(*number));
    }
  }
}

TEST_F(TextTest, NotANumberKeepsItsSign) {
  for (double sign : {1.0, -1.0}) {
    Graph graph(rules_);
    double nan = std::copysign(std::nan(""), sign);
    graph.add("zeros", {}, {{"a", nan}, {"shape", Ints{}}});
    double back = again(graph).node(0).attrs.number("a");
    EXPECT_TRUE(std::isnan(back));
    EXPECT_EQ(std::signbit(back), sign < 0);
  }
}

TEST_F(TextTest, AnyBytesMayBeInNames) {
  std::string name = "a\"b\\c\n\t\r#%@ \x01\x7f\xc3\xa9";
  name += '\0';
  Graph graph(rules_);
  ValueId x = graph.add_input(name, {});
  SlotId slot = graph.add_slot(plain_slot(name, {}));
  graph.slot(slot).aliases = {name + "2"};
  graph.set_path(name);
  graph.add("relu", {x}, {{name, name}});
  graph.add_output(name, x);
  EXPECT_NE(print_graph(graph).find(R"(\n\t\x0d#%@ \x01\x7f)"), name.npos);
  Graph back = again(graph);
  EXPECT_EQ(back.find_input(name), x);
  EXPECT_EQ(back.slots(), graph.slots());
  EXPECT_EQ(back.node(0).path, name);
  EXPECT_EQ(back.node(0).attrs, graph.node(0).attrs);
  EXPECT_EQ(back.outputs()[0].name, name);
}

TEST_F(TextTest, OpsMayBeNamedLikeStatements) {
  Graph graph(rules_);
  graph.add("output", {});
  EXPECT_EQ(print_graph(graph), "braid-graph 1\n\"output\"()\n");
  EXPECT_EQ(again(graph).node(0).op->name, "output");
}

TEST_F(TextTest, RandomNodesKeepTheirKeyEvenZero) {
  Graph graph(rules_);
  ValueId x = graph.add_input("x", {});
  graph.add("dropout", {x});
  EXPECT_NE(graph.node(0).rng_key, 0u);
  EXPECT_EQ(again(graph).node(0).rng_key, graph.node(0).rng_key);
  graph.node(0).rng_key = 0;
  EXPECT_EQ(again(graph).node(0).rng_key, 0u);
}

TEST_F(TextTest, ValueNumbersAreFree) {
  Graph graph = parse(R"(braid-graph 1
input %9223372036854775807 "x" f32[2]
%70: f32[2] = relu(%9223372036854775807)
%5: f32[2] = add(%70, %9223372036854775807)
output "y" %5
)");
  EXPECT_EQ(print_graph(graph), R"(braid-graph 1
input %0 "x" f32[2]
%1: f32[2] = relu(%0)
%2: f32[2] = add(%1, %0)
output "y" %2
)");
}

TEST_F(TextTest, RemovedNodesLeaveNoGaps) {
  Graph graph(rules_);
  Var x = input(graph, "x", {DType::kFloat32, {2}});
  apply("relu", {x});
  Var y = apply("add", {x, x});
  graph.add_output("y", y.id);
  graph.keep_nodes({false, true});
  std::string text = print_graph(graph);
  EXPECT_NE(text.find("%1: f32[2] = add(%0, %0)"), text.npos) << text;
  EXPECT_EQ(print_graph(parse(text)), text);
}

TEST_F(TextTest, SpacesCommentsAndLineEndsDoNotMatter) {
  Graph graph = parse(
      "# a comment\r\n\n  braid-graph 1 # first\r\n"
      "\tinput   %0\"#x\"f32[ 2,3 ]#end\r\n\n"
      "%1:f32[2,3]=relu ( %0 ){a=1,b=[ 2 ]}@\"p\"forward");
  EXPECT_EQ(print_graph(graph),
            "braid-graph 1\ninput %0 \"#x\" f32[2, 3]\n"
            "%1: f32[2, 3] = relu(%0) {a=1, b=[2]} @\"p\"\n");
}

TEST_F(TextTest, DamagedGraphsPrintWithMarks) {
  Graph graph = parse(kSample);
  graph.node(1).inputs[0] = 99;
  graph.node(0).slot = 77;
  graph.node(2).outputs[0] = -5;
  std::string text = print_graph(graph);
  EXPECT_NE(text.find("linear(%?99, "), text.npos) << text;
  EXPECT_NE(text.find("read ?77"), text.npos) << text;
  EXPECT_NE(text.find("%?-5 = dropout"), text.npos) << text;
}

TEST_F(TextTest, LongGraphsAreReadWhole) {
  std::string text = "braid-graph 1\ninput %0 \"x\" f32[2]\n";
  for (int i = 1; i <= 50000; ++i) {
    text += fmt::format("%{}: f32[2] = relu(%{})\n", i, i - 1);
  }
  EXPECT_EQ(print_graph(parse(text)), text);
}

struct Hostile {
  const char* line;     // after "braid-graph 1" and three good lines
  const char* problem;  // a part of the message
};

const char* const kBefore =
    "braid-graph 1\n"
    "slot \"w\" f32[2] parameter constant(0.0) alias=\"tied\"\n"
    "input %0 \"x\" f32[2]\n"
    "%1: f32[2] = relu(%0)\n";

const Hostile kHostile[] = {
    {"nonsense", "expected '(' at column 9, found the end of the line"},
    {"slots \"v\" f32[]", "expected '('"},
    {"braid-graph 1", "expected '('"},
    {"= relu(%0)", "expected a name"},
    {"%2: f32[2] = relu(%0) trailing", "expected the end of the line"},
    {"%2: f32[2] = relu(%0", "expected ')'"},
    {"%2: f32[2] = relu(%0,)", "expected '%'"},
    {"%2: f32[2] = relu", "expected '('"},
    {"%2: f32[2], = relu(%0)", "expected '%'"},
    {"%2 f32[2] = relu(%0)", "expected ':'"},
    {"%2: f32[2] relu(%0)", "expected '='"},
    {"%2: f32[2] = nonsense(%0)", "there is no op 'nonsense'"},
    {"%2: f32[2] = relu()", "[relu] input 0 is missing"},
    {"%2: f32[3] = relu(%0)", "%2 is f32[3], but \"relu\" yields f32[2]"},
    {"%2: i64[2] = relu(%0)", "%2 is i64[2], but"},
    {"relu(%0)", "0 outputs are given, \"relu\" yields 1"},
    {"%2: f32[2], %3: f32[2] = relu(%0)", "2 outputs are given"},
    {"%2: f99[2] = relu(%0)", "expected a type such as f32[4, 3]"},
    {"%2: f32[2 = relu(%0)", "expected ','"},
    {"%2: f32[2.5] = relu(%0)", "\"2.5\" is not an integer"},
    {"%2: f32[-2] = relu(%0)", "impossible shape [-2]"},
    {"%1: f32[2] = relu(%0)", "value %1 is there already"},
    {"%0: f32[2] = relu(%0)", "value %0 is there already"},
    {"%2: f32[], %2: i64[] = max(%0)", "value %2 is there already"},
    {"%2: f32[2] = relu(%2)", "value %2 is used before it is made"},
    {"%2: f32[2] = relu(%99)", "value %99 is used before it is made"},
    {"%-2: f32[2] = relu(%0)", "value number -2 is negative"},
    {"%99999999999999999999: f32[2] = relu(%0)", "does not fit 64 bits"},
    {"%2: f32[2] strides[1, 1] = relu(%0)", "strides [1, 1] and offset 0"},
    {"%2: f32[2] strides[-1] = relu(%0)", "strides [-1] and offset 0"},
    {"%2: f32[2] strides[4611686018427387904] = relu(%0)", "do not fit [2]"},
    {"%2: f32[2] offset=-1 = relu(%0)", "offset -1 do not fit"},
    {"%2: f32[2] offset=9223372036854775807 = relu(%0)", "do not fit [2]"},
    {"%2: f32[2] = read", "expected a name in quotes"},
    {"%2: f32[2] = read \"v\"", "there is no slot \"v\""},
    {"%2: f32[2] = read \"tied\"", "there is no slot \"tied\""},
    {"%2: f32[2] = relu \"w\" (%0)", "expected '('"},
    {"%2: f32[2] = relu(%0) {}", "expected a name"},
    {"%2: f32[2] = relu(%0) {a}", "expected '='"},
    {"%2: f32[2] = relu(%0) {a=}", "expected a number"},
    {"%2: f32[2] = relu(%0) {a=1", "expected '}'"},
    {"%2: f32[2] = relu(%0) {a=1, a=2}", "attribute \"a\" is there twice"},
    {"%2: f32[2] = relu(%0) {a=1e999}", "outside the range of a double"},
    {"%2: f32[2] = relu(%0) {a=9223372036854775808}", "does not fit 64 bits"},
    {"%2: f32[2] = relu(%0) {a=1.2.3}", "\"1.2.3\" is not a number"},
    {"%2: f32[2] = relu(%0) {a=0x10}", "\"0x10\" is not an integer"},
    {"%2: f32[2] = relu(%0) {a=yes}", "is not"},
    {"%2: f32[2] = relu(%0) {a=[1, 2}", "expected ','"},
    {"%2: f32[2] = relu(%0) {a=[[1]]}", "expected a number"},
    {"%2: f32[2] = relu(%0) @path", "expected a name in quotes"},
    {"%2: f32[2] = relu(%0) @\"path", "the quote is never closed"},
    {"%2: f32[2] = relu(%0) @\"\\q\"", "unknown escape"},
    {"%2: f32[2] = relu(%0) @\"\\", "unknown escape"},
    {"%2: f32[2] = relu(%0) @\"\\x0g\"", "unknown escape"},
    {"%2: f32[2] = relu(%0) sideways", "expected the end of the line"},
    {"%2: f32[2] = relu(%0) segment=2147483648", "does not fit 32 bits"},
    {"%2: f32[2] = relu(%0) rng=12", "not a 64-bit number such as 0x12ab"},
    {"%2: f32[2] = relu(%0) rng=0x1ffffffffffffffff", "not a 64-bit number"},
    {"slot \"w\" f32[] buffer constant(0.0)", "already a slot \"w\""},
    {"slot \"tied\" f32[] buffer constant(0.0)", "already a slot \"tied\""},
    {"slot \"v\" f32[] buffer constant(0.0) alias=\"w\"", "already a slot"},
    {"slot \"v\" f32[] thing constant(0.0)", "unknown role \"thing\""},
    {"slot \"v\" f32[] buffer guess(0.0)", "unknown initialisation \"guess\""},
    {"slot \"v\" f32[] buffer uniform(0.0)", "expected ','"},
    {"slot \"v\" f32[] buffer constant()", "expected a number"},
    {"slot \"v\" f32[] buffer constant(0.0, 1.0)", "expected ')'"},
    {"slot \"v\" f32[2] parameter xavier_normal(1.0)",
     "xavier_normal does not fit the shape [2]"},
    {"slot \"v\" f32[] buffer constant(0.0) members=-1", "members -1"},
    {"slot \"v\" f32[] buffer constant(0.0) owners=[0]",
     "its names do not begin with 'member.0/'"},
    {"slot \"member.0/v\" f32[] buffer constant(0.0) owners=[0, 1]",
     "[0, 1] cannot own a slot of 0 members"},
    {"slot \"v\" f32[] buffer constant(0.0) members=2 owners=[1, 1]",
     "[1, 1] cannot own a slot of 2 members"},
    {"slot \"v\" f32[] buffer constant(0.0) members=2 owners=[2]",
     "[2] cannot own a slot of 2 members"},
    {"slot \"v\" f32[] buffer constant(0.0) members=2 inits(constant(1.0))",
     "1 beginnings for 2 members"},
    {"slot \"v\" f32[] buffer constant(0.0) members=1 inits()",
     "unknown initialisation"},
    {"slot \"v\" f32[4611686018427387904] buffer constant(0.0)",
     "impossible shape"},
    {"slot \"v\" f32[4] buffer constant(0.0) members=4611686018427387904",
     "impossible number of members"},
    {"slot \"v\" i8[2] constant constant(0.0) content=\"00\"",
     "its content has 1 bytes, expected 2"},
    {"slot \"v\" i8[1] constant constant(0.0) content=\"0g\"",
     "expected bytes"},
    {"slot \"v\" i8[1] constant constant(0.0) content=\"0\"", "expected bytes"},
    {"slot \"v\" i8[1] buffer constant(0.0) content=\"00\"", "only constants"},
    {"slot v f32[] buffer constant(0.0)", "expected a name in quotes"},
    {"input %0 \"z\" f32[2]", "value %0 is there already"},
    {"input %2 \"x\" f32[2]", "already an input \"x\""},
    {"input %2 \"z\" f32[0, 4611686018427387904, 4611686018427387904]",
     "impossible shape"},
    {"input %2 \"z\" f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
     "rank 17 is more than 16"},
    {"output \"y\"", "expected '%'"},
    {"output \"y\" %7", "value %7 is used before it is made"},
    {"output \"y\" _", "expected '%'"},
};

TEST_F(TextTest, HostileLinesAreRefusedByName) {
  ASSERT_EQ(problem_of(kBefore), "");
  for (const Hostile& hostile : kHostile) {
    std::string problem = problem_of(std::string(kBefore) + hostile.line);
    EXPECT_TRUE(problem.starts_with("[graph text] line 5: "))
        << hostile.line << "\n"
        << problem;
    EXPECT_NE(problem.find(hostile.problem), std::string::npos)
        << hostile.line << "\n"
        << problem;
  }
}

TEST_F(TextTest, TheFirstLineNamesFormatAndVersion) {
  for (const char* text : {"", "\n", "# only\n# comments", "braid-graph 2\n",
                           "braid-graphs 1\n", "input %0 \"x\" f32[2]\n",
                           "\x7f"
                           "ELF",
                           "braid-graph one"}) {
    EXPECT_NE(problem_of(text).find("[graph text] line "), std::string::npos)
        << text;
  }
  EXPECT_NE(problem_of("\n\nbraid-graph 2").find("line 3: "),
            std::string::npos);
}

TEST_F(TextTest, PhasesDoNotGoBackFromUpdate) {
  std::string text = kBefore + std::string("print(%0) update\nprint(%0)\n");
  EXPECT_EQ(problem_of(text),
            "[graph text] line 6: phase forward comes after update");
}

TEST_F(TextTest, NamesOfOutputsAreUnique) {
  std::string text = kBefore + std::string("output \"y\" %0\noutput \"y\" %1");
  EXPECT_EQ(problem_of(text),
            "[graph text] line 6: there is already an output \"y\"");
}

TEST_F(TextTest, AbsurdSizesAreRefused) {
  std::string text((size_t{256} << 20) + 1, '\n');
  EXPECT_NE(problem_of(text).find("more than 256.00 MiB"), std::string::npos);
  std::string attrs = "braid-graph 1\nprint() {";
  for (int i = 0; i <= 1024; ++i) attrs += fmt::format("a{}=1, ", i);
  EXPECT_NE(problem_of(attrs).find("more than 1024 attributes"),
            std::string::npos);
}

TEST_F(TextTest, LongForeignTextIsCutShortInMessages) {
  std::string text = "braid-graph 1\n" + std::string(100000, 'a') + " =";
  EXPECT_LT(problem_of(text).size(), 300u);
  text = "braid-graph 1\nprint(" + std::string(100000, '(');
  EXPECT_LT(problem_of(text).size(), 300u);
}

}  // namespace
}  // namespace braid
