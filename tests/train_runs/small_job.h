// A small job on a table of points, for tests of jobs and runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "braid/runtime/machine.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/run.h"
#include "io/scratch.h"

namespace braid::train {

inline const runtime::Machine& machine() {
  static const std::unique_ptr<runtime::Machine> made = runtime::this_machine();
  return *made;
}

// Three classes of points in the plane, in `rows` lines.
inline std::string points(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    double a = 0.1 * (i % 7), b = 0.1 * (i % 5);
    int label = i % 3;
    text += fmt::format("{},{},{}\n", 2 * label + a, b - 2 * label, label);
  }
  return text;
}

// What a run leaves, by slot.
using Bits = std::map<std::string, std::vector<std::byte>>;
inline Bits bits_of(Run& run) {
  runtime::State& state = run.programs().state();
  Bits bits;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    if (state.slots()[i].role == Role::kGradient) continue;
    bits[state.slots()[i].name] = state.read(static_cast<SlotId>(i));
  }
  return bits;
}

// Names of slots that differ.
inline std::string differences(const Bits& got, const Bits& wanted) {
  std::string names;
  for (const auto& [name, bits] : wanted) {
    auto there = got.find(name);
    if (there == got.end() || there->second != bits) names += name + " ";
  }
  return got.size() == wanted.size() ? names : names + "(other slots)";
}

// Jobs over 22 points for training, 10 for evaluation.
class SmallJobs : public testing::Test {
 protected:
  SmallJobs() : folder_(io::fast_parent()) {
    io::write_text(folder_.path() / "train.csv", points(22));
    io::write_text(folder_.path() / "eval.csv", points(10));
  }

  // YAML after the keys that all of them have.
  JobConfig config(const std::string& more,
                   const std::vector<std::string>& overrides = {}) const {
    return parse_job(kJob + more, folder_.path() / "job.yaml", overrides);
  }

  io::ScratchDirectory folder_;

 private:
  static constexpr const char* kJob =
      "data: {source: csv, file: train.csv}\n"
      "eval: {data: {source: csv, file: eval.csv}}\n"
      "batch_size: 8\n"
      "seed: 3\n"
      "threads: 1\n";
};

// Writes down what it is told.
struct ReportLog : Listener {
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_eval(int64_t step, const io::Scalars& values,
               const io::Scalars& raw) override {
    evals.emplace_back(step, values);
    raw_evals.push_back(raw);
  }
  void on_message(LogLevel, std::string_view text) override {
    messages.emplace_back(text);
  }

  // Messages that hold the text.
  int64_t count(std::string_view text) const {
    return std::ranges::count_if(messages, [&](const std::string& message) {
      return message.find(text) != message.npos;
    });
  }

  std::vector<StepReport> steps;
  std::vector<std::pair<int64_t, io::Scalars>> evals;
  std::vector<io::Scalars> raw_evals;
  std::vector<std::string> messages;
};

}  // namespace braid::train
