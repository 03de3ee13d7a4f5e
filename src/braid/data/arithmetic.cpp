// Sums as text, "12+7=19\n": the least language that a model must understand
// to speak it. What is asked in the test part is never shown in training.
#include <algorithm>
#include <string>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"
#include "braid/data/source_rows.h"
#include "braid/data/windows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

// Tokens are places in this, which is in the order of code points.
constexpr std::string_view kCharacters = "\n*+-0123456789=";

struct Arithmetic {
  int64_t length = 32;
  int64_t limit = 100;  // operands are below
  std::string operators = "+";
  bool is_test = false;
  int64_t seed = 0;
};

struct Question {
  int64_t a, b;
  char sign;
};

// One question in eight, whatever the seed.
bool is_of_test(const Question& q) {
  auto bits = mix_bits(static_cast<uint64_t>(q.a), static_cast<uint64_t>(q.b));
  return mix_bits(bits, static_cast<uint64_t>(q.sign)) % 8 == 0;
}

Question draw_question(const Arithmetic& arithmetic, SampleRandom& random) {
  for (;;) {
    auto sign = random.below(static_cast<int64_t>(arithmetic.operators.size()));
    Question question{random.below(arithmetic.limit),
                      random.below(arithmetic.limit),
                      arithmetic.operators[static_cast<size_t>(sign)]};
    if (is_of_test(question) == arithmetic.is_test) return question;
  }
}

int64_t answer(const Question& q) {
  if (q.sign == '*') return q.a * q.b;
  return q.sign == '-' ? q.a - q.b : q.a + q.b;
}

std::string draw_text(const Arithmetic& arithmetic, SampleRandom random) {
  std::string text;
  while (std::cmp_less_equal(text.size(), arithmetic.length)) {
    Question q = draw_question(arithmetic, random);
    text += fmt::format("{}{}{}={}\n", q.a, q.sign, q.b, answer(q));
  }
  return text;
}

class ArithmeticDataset : public Dataset {
 public:
  ArithmeticDataset(Arithmetic arithmetic, int64_t count)
      : Dataset("arithmetic",
                token_fields(arithmetic.length,
                             static_cast<int64_t>(kCharacters.size())),
                count),
        arithmetic_(std::move(arithmetic)) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    SampleRandom random(arithmetic_.seed, "arithmetic", index);
    std::string text = draw_text(arithmetic_, random);
    auto* tokens = reinterpret_cast<int64_t*>(out[0]);
    auto* targets = reinterpret_cast<int64_t*>(out[1]);
    for (int64_t i = 0; i < arithmetic_.length; ++i) {
      tokens[i] = token_of(text[static_cast<size_t>(i)]);
      targets[i] = token_of(text[static_cast<size_t>(i) + 1]);
    }
  }

 private:
  static int64_t token_of(char character) {
    return static_cast<int64_t>(kCharacters.find(character));
  }

  Arithmetic arithmetic_;
};

int64_t limit_of(const Options& options) {
  int64_t digits = options.whole("digits");
  if (digits > 9) {
    fail_usage("[{}] expected digits from 1 to 9, got {}", options.who(),
               digits);
  }
  int64_t limit = 1;
  for (int64_t i = 0; i < digits; ++i) limit *= 10;
  return limit;
}

std::string operators_of(const Options& options) {
  std::string signs = options.text("operators");
  if (signs.empty() || signs.find_first_not_of("+-*") != signs.npos) {
    fail_usage("[{}] expected some of +, - and * for 'operators', got '{}'",
               options.who(), signs);
  }
  return signs;
}

DatasetPtr open_arithmetic(const Options& options) {
  Arithmetic arithmetic{.length = options.whole("length"),
                        .limit = limit_of(options),
                        .operators = operators_of(options),
                        .is_test = options.text("part") == "test",
                        .seed = options.whole("seed")};
  return std::make_shared<ArithmeticDataset>(std::move(arithmetic),
                                             options.whole("count"));
}

}  // namespace

Source arithmetic_source() {
  return {"arithmetic",
          "sums as text, such as 12+7=19, by characters (15 tokens); no "
          "download",
          "tokens i64 [length], targets i64 [length]",
          {{"count", Kind::kWhole, "10000", "samples"},
           {"length", Kind::kWhole, "32", "tokens of a sample"},
           {"digits", Kind::kWhole, "2", "of an operand, at most"},
           {"operators", Kind::kText, "+", "some of +-*"},
           choice_option("part", {"train", "test"},
                         "questions of one are not in the other"),
           seed_option("of the questions")},
          open_arithmetic};
}

}  // namespace braid::data
