// How a run begins: programs, data, and the newest checkpoint if there is one.
#include "braid/base/error.h"
#include "braid/io/checkpoint.h"
#include "braid/train/run.h"
#include "braid/train/run_checkpoint.h"
#include "braid/train/run_words.h"

namespace braid::train {

Run::Run(const Job& job, RunOptions options)
    : job_(job), options_(std::move(options)), start_(Clock::now()) {
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<io::Trace>(options_.trace);
  }
  backend_ = job.machine().open(job.device(), job.limit_bytes());
  say(LogLevel::kDebug,
      fmt::format("data and model were opened in {:.2f} s", job.open_s()));
  programs_ = std::make_unique<Programs>(job.machine().ops(), job.sources(),
                                         *backend_, job.program_options());
  say_what_is_ready(elapsed());
  start_or_restore();
  prepare_phases();
}

Run::~Run() = default;

void Run::say_what_is_ready(double compile_s) {
  say(LogLevel::kInfo, data_words(job_));
  say(LogLevel::kDebug, field_words(*job_.data().train));
  say(LogLevel::kInfo, model_words(job_, *programs_));
  say(LogLevel::kDebug,
      fmt::format("{} programs were compiled in {:.2f} s, for {} threads",
                  programs_->size(), compile_s, job_.threads()));
  say(LogLevel::kDebug, plan_words(programs_->plan()));
  say(LogLevel::kDebug, memory_words(*programs_));
}

void Run::prepare_phases() {
  const JobConfig& config = job_.config();
  const Job::Places& places = job_.places();
  auto feed = [&](size_t place) {
    return std::make_unique<BatchFeed>(job_.data(), config,
                                       programs_->program(place).graph);
  };
  for (size_t i = 0; i < job_.model().phases().size(); ++i) {
    PhaseRun& phase = phases_.emplace_back();
    phase.feeds.push_back(feed(places.full[i]));
    if (job_.rest_rows() > 0) phase.feeds.push_back(feed(places.rest[i]));
    const JobNetwork& network =
        job_.model().networks()[job_.model().phases()[i].network];
    if (!network.schedule) continue;
    phase.rates = std::make_unique<LearningRates>(
        std::vector<passes::Schedule>{*network.schedule}, programs_->state(),
        network.name);
  }
  loader_ = std::make_unique<data::Loader>(
      job_.data().train, data::LoaderOptions{.batch_size = job_.batch_rows(),
                                             .drop_last = config.drop_last,
                                             .shuffle = config.data.shuffle,
                                             .seed = config.seed});
  loader_->seek(record_.position);
  if (!job_.has_eval()) return;
  eval_feed_ = feed(places.eval);
  if (job_.eval_rest_rows() > 0) eval_rest_feed_ = feed(places.eval_rest);
  eval_loader_ = std::make_unique<data::Loader>(
      job_.data().eval,
      data::LoaderOptions{
          .batch_size = job_.eval_rows(), .shuffle = false, .repeat = false});
}

void Run::start_or_restore() {
  size_t num_phases = job_.model().phases().size();
  record_.loss_sums.resize(num_phases);
  record_.loss_counts.resize(num_phases);
  job_.model().initialise(programs_->state());
  if (options_.out.empty()) return;
  std::filesystem::path root = checkpoints_path(options_.out);
  io::NewestCheckpoint found = io::newest_complete(root);
  if (found.checkpoint) {
    record_ =
        restore(*found.checkpoint, programs_->state(), job_.model().networks());
    saved_step_ = record_.step;
  }
  if (record_.loss_sums.size() != num_phases ||
      record_.step > job_.num_steps()) {
    fail_usage("[resume] '{}' is of another job", options_.out.string());
  }
  time_before_s_ = record_.time_s;
  io::remove_litter(root);
  files_ = std::make_unique<RunFiles>(options_.out, job_.config().checkpoint,
                                      record_.step, trace_.get());
  for (const std::string& line : std::exchange(unlogged_, {})) {
    files_->log(line);
  }
  for (const std::string& warning : found.warnings) {
    say(LogLevel::kWarning, warning);
  }
  if (found.checkpoint) {
    say(LogLevel::kInfo, fmt::format("going on after step {}", record_.step));
  }
}

}  // namespace braid::train
