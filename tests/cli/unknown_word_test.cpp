// Every option of every verb, given to every other verb: the hint names a way
// that works there.
#include "braid/cli/unknown_word.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <regex>
#include <set>

#include "braid/cli/verbs/verb.h"
#include "braid/train/job/job_keys.h"

namespace braid::cli {
namespace {

using Words = std::vector<std::string>;

// The verbs of the program with their options.
class UnknownWord : public testing::Test {
 protected:
  UnknownWord() {
    add("train", add_train);
    add("resume", add_resume);
    add("validate", add_validate);
    add("export", add_export);
    add("eval", add_eval);
    add("predict", add_predict);
    add("runs", add_runs);
    add("plan", add_plan);
    add("step", add_step);
    add("inspect", add_inspect);
  }

  void add(const char* name, Action (*declare)(CLI::App&)) {
    actions_.push_back(declare(*program_.add_subcommand(name)));
  }

  const CLI::App& verb(const std::string& name) const {
    return *program_.get_subcommand(name);
  }

  std::set<std::string> options(const CLI::App& app) const {
    std::set<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.insert("--" + name);
      }
    }
    return names;
  }

  Words verbs() const {
    Words names;
    for (const CLI::App* app : program_.get_subcommands({})) {
      names.push_back(app->get_name());
    }
    return names;
  }

  // "braid VERB SOMETHING word value"
  std::string hint(const std::string& name, const std::string& word,
                   const std::string& value = "") const {
    Words arguments{name, "something", word};
    if (!value.empty()) arguments.push_back(value);
    return unknown_word_hint(program_, verb(name), word, arguments);
  }

  // Whether the verb would take what a hint says.
  bool works(const std::string& name, const std::string& hint) const {
    std::smatch found;
    std::set<std::string> own = options(verb(name));
    if (std::regex_match(hint, found, std::regex("write (--[a-z-]+) .*"))) {
      return own.contains(found[1]);
    }
    if (std::regex_match(hint, found, std::regex("write ([a-z_.]+)=.*"))) {
      const std::set<std::string> take_values{
          "train", "validate", "inspect", "eval", "predict", "resume", "plan"};
      return take_values.contains(name) &&
             train::find_job_key(found[1].str()) == found[1];
    }
    if (std::regex_match(hint, found,
                         std::regex("did you mean '(--?[a-z-]+)'\\?"))) {
      return own.contains(found[1]);
    }
    if (std::regex_search(hint, found,
                          std::regex("(--[a-z-]+) is an option "
                                     "of 'braid ([a-z]+)'"))) {
      return options(verb(found[2])).contains(found[1]);
    }
    return hint.find("config.yaml") != hint.npos ||
           hint.starts_with("'braid " + name + "' has ");
  }

  CLI::App program_{"braid"};
  std::vector<Action> actions_;
};

TEST_F(UnknownWord, EveryOptionOfEveryVerbLeadsSomewhere) {
  std::set<std::string> all;
  for (const std::string& name : verbs()) all.merge(options(verb(name)));
  ASSERT_GT(all.size(), 40U);
  for (const std::string& name : verbs()) {
    std::set<std::string> own = options(verb(name));
    for (const std::string& option : all) {
      if (own.contains(option)) continue;
      std::string text = hint(name, option, "7");
      EXPECT_TRUE(works(name, text)) << name << " " << option << ": " << text;
    }
  }
}

struct Expected {
  std::string verb, word, value, hint;
};

TEST_F(UnknownWord, SaysTheWayThatWorks) {
  const std::vector<Expected> table{
      {"train", "--device", "cuda", "write device=cuda"},
      {"train", "--device=cuda:1", "", "write device=cuda:1"},
      {"train", "--gpu", "", "write device=cuda"},
      {"train", "--lr", "1e-3", "write optimizer.lr=1e-3"},
      {"train", "--learning-rate", "1e-3", "write optimizer.lr=1e-3"},
      {"train", "--lr", "", "write optimizer.lr=VALUE"},
      {"train", "--epochs", "3", "write epochs=3"},
      {"train", "--num-epochs", "3", "write epochs=3"},
      {"train", "--memory-limit", "4GiB", "write memory_limit=4GiB"},
      {"train", "--batch-size", "8", "write batch_size=8"},
      {"train", "--batch_size", "8", "write batch_size=8"},
      {"train", "--weight-decay", "0", "write optimizer.weight_decay=0"},
      {"train", "--momentum", "0.9", "write optimizer.momentum=0.9"},
      {"train", "--optimizer", "sgd", "write optimizer.kind=sgd"},
      {"train", "--patience", "3", "write eval.early_stop.patience=3"},
      {"train", "--eval-every", "5", "write eval.every=5"},
      {"train", "--checkpoint-every", "5", "write checkpoint.every=5"},
      {"train", "--seed", "1", "write seed=1"},
      {"train", "--output-dir", "runs/a", "did you mean '--out'?"},
      {"train", "--otu", "runs/a", "did you mean '--out'?"},
      {"train", "--metrics", "loss", "write eval.metrics=loss"},
      {"validate", "--threads", "2", "write threads=2"},
      {"inspect", "--device", "cuda", "write device=cuda"},
      {"eval", "--precision", "bf16", "write precision=bf16"},
      {"eval", "--inputs", "x.yaml", "did you mean '--data'?"},
      {"predict", "--out", "p.npy", "did you mean '--to'?"},
      {"export", "--out", "w.safetensors", "did you mean '--to'?"},
      {"step", "--lr", "1e-3", "write --set lr=1e-3"},
      {"step", "optimizer.lr=1e-3", "", "write --set lr=1e-3"},
      {"step", "lr=1e-3", "", "write --set lr=1e-3"},
      {"step", "device=cuda", "", "write --device cuda"},
      {"step", "memory_limit=1GB", "", "write --memory-limit 1GB"},
      {"step", "--epochs", "3", "write --steps 3"},
      {"step", "clip.norm=1", "", "write --set clip_norm=1"},
      {"step", "ema=0.9", "", "write --set ema_decay=0.9"},
      {"step", "optimizer.kind=sgd", "", "write --optimizer sgd"}};
  for (const Expected& row : table) {
    EXPECT_EQ(hint(row.verb, row.word, row.value), row.hint)
        << row.verb << " " << row.word;
  }
}

TEST_F(UnknownWord, AWordThatNothingIsNearListsWhatThereIs) {
  std::string text = hint("train", "--zebra", "3");
  EXPECT_TRUE(text.starts_with("'braid train' has --out, ")) << text;
  EXPECT_EQ(text.find("did you mean"), text.npos);
  text = hint("export", "--zebra");
  EXPECT_NE(text.find("--best"), text.npos) << text;
}

TEST_F(UnknownWord, VerbsHaveOtherNames) {
  auto of = [&](const std::string& word) {
    return unknown_word_hint(program_, program_, word, {word});
  };
  EXPECT_EQ(of("trian"), "did you mean 'train'?");
  EXPECT_EQ(of("evaluate"), "did you mean 'eval'?");
  EXPECT_EQ(of("infer"), "did you mean 'predict'?");
  EXPECT_TRUE(of("zebra").starts_with("there are train, resume"))
      << of("zebra");
}

}  // namespace
}  // namespace braid::cli
