// Job files: good ones become the struct, bad ones errors with lines.
#include "braid/train/job/job_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "braid/train/job/job_file.h"
#include "braid/train/job/job_optimizer.h"
#include "io/scratch.h"
#include "thrown.h"

namespace braid::train {
namespace {

using testing::HasSubstr;
using testing::Not;

JobConfig read(const std::string& text,
               const std::vector<std::string>& overrides = {}) {
  return parse_job(text, "/jobs/train.yaml", overrides);
}

// What every job needs, and lines of its own.
std::string job(const std::string& lines) {
  return "model: lenet\ndata: glyphs\nepochs: 1\n" + lines;
}

constexpr const char* kFull =
    "model: {name: lenet, classes: 36}\n"
    "output: logits\n"
    "target: y\n"
    "data:\n"
    "  source: images\n"
    "  shuffle: no\n"
    "  order_seed: 4\n"
    "  allow_nan: yes\n"
    "  folder: data/faces\n"
    "  classes: [a, b]\n"
    "  augment: {crop: 4, mean: [0.5, 0.4, 0.3]}\n"
    "inputs: {image: x, label: y}\n"
    "loss: cross_entropy(label_smoothing=0.1)\n"
    "optimizer: {kind: sgd, lr: 1e-1, momentum: .9, nesterov: true}\n"
    "schedule: {kind: multi_step, milestones: [30, 80], gamma: 0.2}\n"
    "steps: 1e3\n"
    "epochs: 4\n"
    "batch_size: 64\n"
    "drop_last: true\n"
    "accumulate: 4\n"
    "clip: 1\n"
    "init: {file: ../w.safetensors, 'conv*.weight': normal(std=0.02)}\n"
    "freeze: ['*.bias']\n"
    "groups: [{pattern: fc.*, lr: 1e-3}]\n"
    "ema: 0.999\n"
    "precision: bf16\n"
    "dtype: f32\n"
    "seed: 7\n"
    "threads: 2\n"
    "eval:\n"
    "  data: {source: glyphs, part: test}\n"
    "  every: 100\n"
    "  batch_size: 128\n"
    "  metrics: [accuracy, top5]\n"
    "  early_stop: {metric: accuracy, patience: 3, min_delta: 1e-3, mode: "
    "max}\n"
    "  limit: 1000\n"
    "log_every: 20\n"
    "checkpoint: {every: 50, keep: 3, best: accuracy}\n"
    "on_nan: skip\n"
    "device: cuda:1\n"
    "memory_limit: 1.5GiB\n"
    "spill_dir: /local/disk\n";

JobConfig full_job() {
  JobConfig job{
      .model = "lenet(classes=36)", .output = "logits", .target = "y"};
  job.data = {"images",
              false,
              4,
              true,
              {{"crop", "4"}, {"mean", "[0.5,0.4,0.3]"}},
              {{"folder", "data/faces"}, {"classes", "[a,b]"}}};
  job.inputs = {{"image", "x"}, {"label", "y"}};
  job.loss = "cross_entropy(label_smoothing=0.1)";
  job.optimizer = {"sgd",
                   {{"lr", "1e-1"}, {"momentum", ".9"}, {"nesterov", "true"}}};
  job.schedule = "multi_step(milestones=[30,80],gamma=0.2)";
  job.steps = 1000;
  job.epochs = 4;
  job.batch_size = 64;
  job.drop_last = true;
  job.accumulate = 4;
  job.clip.norm = 1;
  job.init = {.file = "/w.safetensors",
              .rules = {{"conv*.weight", "normal(std=0.02)"}}};
  job.freeze = {"*.bias"};
  job.groups = {{"fc.*", {{"lr", "1e-3"}}}};
  job.ema = 0.999;
  job.precision = "bf16";
  job.seed = 7;
  job.threads = 2;
  job.eval.data = DataConfig{.source = "glyphs", .options = {{"part", "test"}}};
  job.eval.every = 100;
  job.eval.batch_size = 128;
  job.eval.metrics = {"accuracy", "top5"};
  job.eval.early_stop = {"accuracy", 3, 1e-3, "max"};
  job.eval.limit = 1000;
  job.log_every = 20;
  job.checkpoint = {50, 3, "accuracy"};
  job.on_nan = "skip";
  job.device = "cuda:1";
  job.memory_limit = int64_t{3} << 29;
  job.spill_dir = "/local/disk";
  return job;
}

constexpr const char* kGan =
    "data: glyphs\n"
    "steps: 10\n"
    "networks:\n"
    "  g: {model: dcgan_generator, optimizer: {kind: adam, betas: [.5, .9]}}\n"
    "  d: {model: nets/d.pt2, schedule: cosine(steps=9), freeze: [a]}\n"
    "phases:\n"
    "  - {learns: d, loss: \"bce(d(x), 1) + bce(d(detach(g(z))), 0)\"}\n"
    "  - learns: g\n"
    "    loss: bce(d(g(z)), 1)\n"
    "    every: 2\n"
    "noise: {z: [100, 1, 1], u: {shape: [3], kind: uniform}}\n";

TEST(JobConfig, HoldsWhatTheFileSays) { EXPECT_EQ(read(kFull), full_job()); }

TEST(JobConfig, HasDefaults) {
  JobConfig expected{.model = "lenet"};
  expected.data.source = "glyphs";
  expected.epochs = 1;
  EXPECT_EQ(read(job("")), expected);
  EXPECT_EQ(expected.optimizer.kind, "adamw");
  EXPECT_EQ(expected.batch_size, 32);
}

TEST(JobConfig, HoldsSeveralNetworks) {
  JobConfig job = read(kGan);
  ASSERT_EQ(job.networks.size(), 2u);
  EXPECT_EQ(job.networks.at("d").model, "/jobs/nets/d.pt2");
  EXPECT_EQ(job.networks.at("d").schedule, "cosine(steps=9)");
  ASSERT_EQ(job.phases.size(), 2u);
  EXPECT_EQ(job.phases[0].loss, "bce(d(x), 1) + bce(d(detach(g(z))), 0)");
  EXPECT_EQ(job.phases[1], (PhaseConfig{"g", "bce(d(g(z)), 1)", 2}));
  EXPECT_EQ(job.noise.at("z"), (NoiseConfig{{100, 1, 1}, "normal"}));
  EXPECT_EQ(job.noise.at("u"), (NoiseConfig{{3}, "uniform"}));
}

TEST(JobConfig, ReadsBackWhatItWrites) {
  for (const char* text : {kFull, kGan}) {
    JobConfig job = read(text);
    EXPECT_EQ(read(job_text(job)), job) << job_text(job);
    EXPECT_EQ(read(job_text(job, false)), job) << job_text(job, false);
  }
  EXPECT_EQ(job_text(read(job("seed: 3\n")), false),
            "model: lenet\ndata:\n  source: glyphs\nepochs: 1\nseed: 3\n");
}

TEST(JobConfig, IsReadFromFilesAndWrittenToThem) {
  io::ScratchDirectory scratch;
  const std::filesystem::path& folder = scratch.path();
  io::write_text(folder / "a.yaml", job("init: b.safetensors\n"));
  JobConfig job = read_job(folder / "a.yaml", {"batch_size=8"});
  EXPECT_EQ(job.init.file, folder / "b.safetensors");
  EXPECT_EQ(job.batch_size, 8);
  write_job(folder / "config.yaml", job);
  EXPECT_EQ(read_job(folder / "config.yaml"), job);
  EXPECT_THROW(read_job(folder / "none.yaml"), std::runtime_error);
  EXPECT_THROW(write_job(folder / "none/a.yaml", job), std::runtime_error);
}

TEST(JobConfig, RelativePathsBeginAtTheFile) {
  EXPECT_EQ(read(job(""), {"model=lenet(classes=3)"}).model,
            "lenet(classes=3)");
  EXPECT_EQ(read("model: ../m.pt2\ndata: glyphs\nsteps: 1\n").model, "/m.pt2");
  EXPECT_EQ(read("model: /a/m\ndata: glyphs\nsteps: 1\n").model, "/a/m");
  EXPECT_EQ(read(job(""), {"model=m.pt2"}).model,
            (std::filesystem::current_path() / "m.pt2").string());
  EXPECT_EQ(read(job(""), {"model.classes=3"}).model, "lenet(classes=3)");
}

TEST(JobConfig, PathsOfDataBecomeAbsoluteAsTheSourceSays) {
  JobConfig job = read(
      "model: lenet\nsteps: 1\n"
      "data: {source: npy, files: [x=a.npy, y=/b.npy], folder: c, kind: d}\n"
      "eval: {data: {source: npy, files: x=e.npy}}\n");
  resolve_paths(job, [](const std::string& source, const std::string& name) {
    EXPECT_EQ(source, "npy");
    if (name == "folder") return PathKind::kPath;
    return name == "files" ? PathKind::kFiles : PathKind::kNone;
  });
  EXPECT_EQ(job.data.options[0].text, "[x=/jobs/a.npy,y=/b.npy]");
  EXPECT_EQ(job.data.options[1].text, "/jobs/c");
  EXPECT_EQ(job.data.options[2].text, "d");
  EXPECT_EQ(job.eval.data->options[0].text, "x=/jobs/e.npy");
  EXPECT_EQ(read(job_text(job)), job);
}

TEST(JobConfig, MakesItsOptimizer) {
  passes::Optimizer sgd = optimizer_of(read(kFull));
  EXPECT_EQ(sgd.kind, "sgd");
  EXPECT_EQ(sgd.hyper.at("lr"), 0.1);
  EXPECT_EQ(sgd.hyper.at("clip_norm"), 1);
  EXPECT_EQ(sgd.hyper.at("ema_decay"), 0.999);
  EXPECT_TRUE(sgd.has("nesterov"));
  EXPECT_TRUE(sgd.has("momentum"));
  EXPECT_TRUE(sgd.skip_nonfinite);
  ASSERT_EQ(sgd.groups.size(), 1u);
  EXPECT_EQ(sgd.groups[0].values.at("lr"), 1e-3);

  JobConfig gan = read(kGan);
  passes::Optimizer adam = optimizer_of(gan, gan.networks.at("g"));
  EXPECT_EQ(adam.kind, "adam");
  EXPECT_EQ(adam.hyper.at("beta1"), 0.5);
  EXPECT_EQ(adam.hyper.at("beta2"), 0.9);
  EXPECT_FALSE(adam.clip);
}

TEST(JobConfig, ValidatesWhatCppCodeSays) {
  JobConfig good = read(kFull);
  EXPECT_NO_THROW(good.validate());
  EXPECT_NO_THROW(read(kGan).validate());
  JobConfig bad = good;
  bad.batch_size = -1;
  bad.precision = "f8";
  bad.schedule = "cosin";
  std::string error = thrown_by([&] { bad.validate(); });
  EXPECT_THAT(error, HasSubstr("[job] "));
  EXPECT_THAT(error, HasSubstr("batch_size is at least 1, got '-1'"));
  EXPECT_THAT(error, HasSubstr("precision is f32 or bf16, got 'f8'"));
  EXPECT_THAT(error, HasSubstr("schedule: unknown kind 'cosin'"));
  EXPECT_THROW(JobConfig{}.validate(), std::invalid_argument);
}

TEST(JobConfig, OneProblemIsOneLine) {
  EXPECT_EQ(thrown_by([] { read(job("optimizer:\n  lr: fast\n")); }),
            "[job] /jobs/train.yaml line 5: optimizer.lr is a number, got "
            "'fast'\nHINT: write it as 0.1 or 3e-4");
  EXPECT_EQ(thrown_by([] { read(job(""), {"optimizer.lr=fast"}); }),
            "[job] override 'optimizer.lr=fast': optimizer.lr is a number, "
            "got 'fast'\nHINT: write it as 0.1 or 3e-4");
}

TEST(JobConfig, AProblemIsSaidOnce) {
  std::string error =
      thrown_by([] { read("model: [a]\ndata: glyphs\nsteps: many\n"); });
  EXPECT_THAT(error, HasSubstr("2 problems"));
  EXPECT_THAT(error, Not(HasSubstr("missing")));
}

// A job whose data are parted.
std::string split(const std::string& text) {
  return "model: lenet\ndata: {source: glyphs, split: " + text +
         "}\nepochs: 1\n";
}

TEST(JobConfig, ASplitIsAShareOrASection) {
  EXPECT_EQ(read(split("0.1")).data.split, (SplitConfig{0.1, 0}));
  EXPECT_EQ(read(split("{eval: 20, seed: 3}")).data.split,
            (SplitConfig{20, 3}));
  EXPECT_THAT(job_text(read(job(""))), Not(HasSubstr("split")));
  JobConfig config = read(split("{eval: 0.1, seed: 3}"));
  EXPECT_EQ(read(job_text(config)), config);
}

struct Case {
  std::string text;
  std::vector<std::string> parts;
  std::vector<std::string> overrides = {};
};

std::string gan(const std::string& from, const std::string& to) {
  std::string text = kGan;
  return text.replace(text.find(from), from.size(), to);
}

TEST(JobConfig, BadJobsAreRefused) {
  const std::vector<Case> cases = {
      // What must be there.
      {"", {"3 problems", "model is missing", "data.source is missing"}},
      {"", {"steps and epochs are missing", "HINT: write epochs: 10"}},
      {"data: glyphs\nsteps: 1\n", {"model is missing", "write model: lenet"}},
      {"model: lenet\nsteps: 1\n", {"data.source is missing"}},
      {"model: lenet\ndata: glyphs\n", {"steps and epochs are missing"}},
      {job("eval: {data: {part: test}}"), {"line 4: eval.data.source is"}},
      // Keys.
      {job("modle: x"), {"line 4: unknown key 'modle'", "mean 'model'?"}},
      {job("batchsize: 2"), {"unknown key 'batchsize'", "'batch_size'"}},
      {job("eval: {evry: 2}"), {"unknown key 'eval.evry'", "'eval.every'"}},
      {job("checkpoint:\n  kep: 2"), {"line 5: unknown key 'checkpoint.kep'"}},
      {job("steps: 1\nsteps: 2"), {"line 5: 'steps' stands twice"}},
      {"- model: lenet\n", {"the file is a map of keys, got a list"}},
      {"lenet\n", {"the file is a map of keys, got 'lenet'"}},
      {"model: [a\n", {"not valid YAML"}},
      {job("---\nsteps: 2"), {"a second document begins"}},
      // Numbers.
      {job("steps: 0"), {"line 4: steps is at least 1, got '0'"}},
      {job("steps: -5"), {"steps is at least 1, got '-5'"}},
      {job("steps: 1.5"), {"steps is a whole number, got '1.5'"}},
      {job("steps: ten"), {"steps is a whole number, got 'ten'"}},
      {job("steps: {a: 1}"), {"steps is a whole number, got a map"}},
      {job("steps: '10'"), {"steps", "in quotes", "leave them out"}},
      {job(""), {"override 'epochs=0': epochs is at least 1"}, {"epochs=0"}},
      {job("batch_size: 0"), {"batch_size is at least 1"}},
      {job("batch_size: big"), {"batch_size is a whole number"}},
      {job("accumulate: 0"), {"accumulate is at least 1"}},
      {job("accumulate: 5"), {"accumulate is 5, which does not divide"}},
      {job("seed: -1"), {"seed is at least 0"}},
      {job("threads: -1"), {"threads is at least 0"}},
      {job("log_every: 0"), {"log_every is at least 1"}},
      {job("ema: 1"), {"ema is below 1, got '1'"}},
      {job("ema: -0.1"), {"ema is at least 0"}},
      {job("clip: 0"), {"clip.norm is above 0"}},
      {job("clip: {value: -1}"), {"clip.value is above 0"}},
      {job("clip: hard"), {"clip.norm is a number, got 'hard'"}},
      {job("memory_limit: much"), {"memory_limit is a number of bytes"}},
      {job("memory_limit: 0"), {"memory_limit is at least 1"}},
      {job("drop_last: perhaps"), {"drop_last is true or false"}},
      {job("eval: {every: -1}"), {"eval.every is at least 0"}},
      {job("eval: {batch_size: 0}"), {"eval.batch_size is at least 1"}},
      {job("eval: {limit: 0}"), {"eval.limit is at least 1"}},
      {job("eval: {early_stop: {patience: -1}}"), {"patience is at least 0"}},
      {job("checkpoint: {keep: 0}"), {"checkpoint.keep is at least 1"}},
      {job("checkpoint: {every: -1}"), {"checkpoint.every is at least 0"}},
      // Parts of the data.
      {split("0"), {"line 2: data.split.eval is above 0"}},
      {split("-0.1"), {"data.split.eval is above 0"}},
      {split("1"), {"data.split.eval is 1, which could be", "share below 1"}},
      {split("1.5"), {"is 1.5, which is neither a share nor a count"}},
      {split("half"), {"data.split.eval is a number, got 'half'"}},
      {split("{eval: 0.1, seed: -1}"), {"data.split.seed is at least 0"}},
      {split("{}"), {"data.split.eval is 0, which is neither"}},
      {split("{share: 0.1}"), {"unknown key 'data.split.share'"}},
      {split("0.1") + "eval: {data: glyphs}\n", {"does not go with eval.data"}},
      {job("eval: {data: {source: glyphs, split: 0.1}}"),
       {"eval.data.split is for training data"}},
      {gan("data: glyphs", "data: {source: glyphs, split: 0.1}"),
       {"data.split does not go with networks"}},
      // Words.
      {job("precision: f16"), {"precision is f32 or bf16, got 'f16'"}},
      {job("dtype: bf16"), {"dtype is f32 or f64, got 'bf16'"}},
      {job("precision: bf16\ndtype: f64"), {"line 4: precision is bf16"}},
      {job("on_nan: cry"), {"on_nan is stop or skip, got 'cry'"}},
      {job("eval: {early_stop: {mode: up}}"), {"is auto, min or max"}},
      {job("eval: accuracy"), {"eval is a map of keys, got 'accuracy'"}},
      {job("eval: {metrics: accuracy}"), {"eval.metrics is a list of texts"}},
      {job("device: [cpu]"), {"device is a text, got a list"}},
      {job("inputs: [x]"), {"inputs is a map of texts, got a list"}},
      {job("inputs: {a: x, b: x}"), {"inputs.b is 'x', which another field"}},
      {job("data: {source: [a]}").replace(13, 13, ""), {"data.source"}},
      {job(""), {"override 'data={}'", "data.source is"}, {"data={}"}},
      {job(""), {"data.x is a value or a list, got a map"}, {"data.x={a: 1}"}},
      {job("loss: cross_entropy("), {"line 4: loss: cannot read"}},
      {job("loss: {label_smoothing: 1}"), {"loss has no 'kind'"}},
      {job("freeze: '*.bias'"), {"freeze is a list of texts"}},
      {job("freeze: ['']"), {"freeze has an empty pattern"}},
      {job("init: {'a.b': nrmal}"), {"line 4: init.a.b", "'normal'"}},
      {job("init: {'a.b': [1]}"), {"init.a.b"}},
      // Optimizer and schedule.
      {job("optimizer: adamx"), {"optimizer.kind: unknown kind 'adamx'"}},
      {job("optimizer: {lr: fast}"), {"optimizer.lr is a number, got 'fast'"}},
      {job("optimizer: {lr: -1}"), {"optimizer.lr is at least 0, got -1"}},
      {job("optimizer: {lrr: 1}"), {"adamw has no value 'lrr'", "'lr'"}},
      {job("optimizer: {lr: .nan}"), {"optimizer.lr is at least 0"}},
      {job("optimizer: {beta1: 1}"), {"optimizer.beta1 is from 0 to below 1"}},
      {job("optimizer: {betas: 0.9}"), {"is a list of two numbers", "[0.9,"}},
      {job("optimizer: {betas: [0.9, x]}"), {"betas is a number, got 'x'"}},
      {job("optimizer: {betas: [0.9, [1]]}"), {"optimizer.betas is a number"}},
      {job("optimizer: {clip_norm: 1}"), {"write the key 'clip.norm'"}},
      {job("optimizer: {ema_decay: 1}"), {"write the key 'ema'"}},
      {job("optimizer: {nesterov: true}"), {"adamw has no value 'nesterov'"}},
      {job("groups: {a: 1}"), {"groups is a list of maps, got a map"}},
      {job("groups: [{lr: 1}]"), {"groups.0.pattern is missing"}},
      {job("groups: [{pattern: a, x: 1}]"), {"line 4: groups.0.x", "'x'"}},
      {job("groups: [{pattern: a, lr: x}]"), {"groups.0.lr is a number"}},
      {job("schedule: cosin(steps=9)"), {"unknown kind 'cosin'", "'cosine'"}},
      {job("schedule: restarts"), {"restarts needs the value 'period'"}},
      {job("schedule: cosine(warmup=101%)"), {"from 0% to 100% of the run"}},
      {job("schedule: {kind: cosine, min_lr: 5%}"), {"'min_lr' is a number"}},
      {job("schedule: {kind: multi_step, milestones: [5, 5%]}"),
       {"schedule has 'milestones'"}},
      {job("eval: {tables: [classes, roc]}"), {"'roc', which is no table"}},
      {job("log_norms: {of: ['']}"), {"log_norms.of has an empty pattern"}},
      {job("schedule: cosine(stps=9)"), {"has no value 'stps'"}},
      {job("schedule: cosine(steps=-9)"), {"'steps' must be"}},
      {job("schedule: {steps: 9}"), {"schedule has no 'kind'"}},
      {job("schedule: {kind: cosine, steps: x}"), {"schedule has 'steps'"}},
      // Several networks.
      {gan("phases:", "phasen:"), {"unknown key 'phasen'", "'phases'"}},
      {gan("learns: g", "learns: f"), {"line 8: phases.1.learns is a network"}},
      {gan("every: 2", "every: 0"), {"phases.1.every is at least 1"}},
      {gan("model: nets/d.pt2, ", ""), {"line 5: networks.d.model is missing"}},
      {gan("cosine(", "cosin("), {"line 5: networks.d.schedule"}},
      {gan("kind: adam,", "kind: adam, x: 1,"), {"networks.g.optimizer.x"}},
      {gan("z: [100, 1, 1]", "z: {}"), {"noise.z.shape is missing"}},
      {gan("z: [100, 1, 1]", "z: [0]"), {"noise.z.shape is at least 1"}},
      {gan("z: [100, 1, 1]", "g: [1]"), {"noise.g is the name of a network"}},
      {gan("z: [100, 1, 1]", "a-b: [1]"), {"noise.a-b is a name of letters"}},
      {gan("kind: uniform", "kind: odd"), {"noise.u.kind is normal or"}},
      {gan("steps: 10", "steps: 1\nmodel: lenet"), {"model does not go with"}},
      {gan("steps: 10", "steps: 1\nloss: mse"), {"loss does not go with"}},
      {gan("steps: 10", "steps: 1\noptimizer: sgd"), {"optimizer does not"}},
      {job("phases: [{learns: a, loss: b}]"), {"networks is missing"}},
      {job("networks: {a: {model: b}}"), {"phases is missing"}},
      {kGan, {"phases.0.loss is missing"}, {"phases.0.loss="}},
      {kGan, {"phases has items 0 to 1, got '2'"}, {"phases.2.every=1"}},
  };
  EXPECT_GE(cases.size(), 60u);
  for (const Case& c : cases) {
    std::string error = thrown_by([&] { read(c.text, c.overrides); });
    EXPECT_THAT(error, testing::StartsWith("[job] ")) << c.text;
    for (const std::string& part : c.parts) {
      EXPECT_THAT(error, HasSubstr(part)) << c.text;
    }
  }
}

}  // namespace
}  // namespace braid::train
