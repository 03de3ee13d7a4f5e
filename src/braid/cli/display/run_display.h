// RunDisplay: a run on the terminal.
#pragma once

#include <cstdio>

#include "braid/cli/display/display.h"
#include "braid/train/run/listener.h"
#include "braid/train/run/run.h"

namespace braid::cli {

class RunDisplay : public train::Listener {
 public:
  // Shows messages up to a level. Borrows the stream.
  explicit RunDisplay(bool quiet,
                      train::LogLevel shown = train::LogLevel::kInfo,
                      std::FILE* out = stdout)
      : quiet_(quiet), shown_(shown), out_(out) {}

  void on_step(const train::StepReport& report) override;
  void on_eval(int64_t step, const io::Scalars& values,
               const io::Scalars& raw) override;
  void on_message(train::LogLevel level, std::string_view text) override;
  std::string trouble() const override;

  // Ends what is drawn, so that other text may follow.
  void finish();
  // The last line: what came out, and where it is.
  void done(const train::Run& run, const std::string& out);

 private:
  Display& display(int64_t first_step);

  bool quiet_;
  train::LogLevel shown_;
  std::FILE* out_;
  std::unique_ptr<Display> display_;  // from the first step on
  DisplayState state_;
};

}  // namespace braid::cli
