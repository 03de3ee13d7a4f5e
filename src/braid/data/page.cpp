#include "braid/data/page.h"

#include <fmt/ranges.h>

#include "braid/data/augment.h"
#include "braid/data/sources.h"

namespace braid::data {
namespace {

constexpr const char* kIntro =
    "# Data\n\n"
    "Made from the tables in `src/braid/data` by `make docs`; do not "
    "edit.\n\n"
    "A source gives samples; a sample is a few fields of fixed shape. Images "
    "are `x`, f32 `[C, H, W]` from 0 to 1, with a label `y`, i64; language "
    "models read `tokens` and `targets`, i64 `[T]`, the targets being the "
    "tokens moved by one. Relative paths are taken from the folder of the job "
    "file.\n\n"
    "- Sources that end in \"no download\" draw their data. A sample is a "
    "function of the seed, the part and its number.\n"
    "- The order of an epoch is a function of the seed and the number of the "
    "epoch; the images that augmentation makes, of the seed, the epoch and "
    "the number of the sample. Neither depends on threads or batches.\n"
    "- Files are checked before they are used. Whatever is wrong is an error "
    "that names the file and the offset, row or line: a truncated record, a "
    "label that is not below the number of classes, a size that does not "
    "fit.\n"
    "- So is what they hold, where the model reads it: classes and tokens that "
    "it does not have (-100 is ignored by a cross entropy), NaN and infinity. "
    "`braid train` looks at the first million samples or 16 million values, "
    "`braid validate` at sixteen times as many; both say how many these were. "
    "`allow_nan: true` beside `source` lets NaN and infinity through, and with "
    "`on_nan: skip` the steps that meet them are skipped.\n"
    "- Training and evaluation data have the same fields, in any order. What a "
    "source learns from training data it reads evaluation data by: the "
    "numbers of labels and categories, means and deviations in `csv`, "
    "characters and words of `text`, parts of `clouds`. `eval.data` need not "
    "say so again; a label, character or category that training does not have "
    "is an error. Folders of `images` must be the same in both. A run keeps "
    "what was learned as `data.json`.\n"
    "- `split: {eval: 0.1, seed: 1}` beside `source` holds samples back from "
    "training and evaluates on them, with every source: see [below](#split).\n"
    "- Compressed files, but for `.npz`, are refused: unpack them first "
    "(`gunzip`, `tar xzf`).\n\n";

// Blocks that a test runs as they are.
constexpr const char* kOwnData =
    "\n## Data of your own\n\n"
    "One array per field, the first dimension counting samples; names are "
    "those of the model's inputs, or `inputs` of the job says which is "
    "which:\n\n"
    "```python\n"
    "import numpy as np\n\n"
    "rng = np.random.default_rng(0)\n"
    "images = rng.integers(256, size=(500, 1, 20, 20), dtype=np.uint8)  # [N, "
    "C, H, W]\n"
    "np.save(\"images.npy\", images)\n"
    "np.save(\"labels.npy\", (images.mean((1, 2, 3)) > 127).astype(int))\n\n"
    "area, rooms = rng.uniform(20, 200, 300), rng.integers(1, 7, 300)\n"
    "with open(\"houses.csv\", \"w\") as file:\n"
    "    file.write(\"area,rooms,price\\n\")\n"
    "    for a, r in zip(area / 100, rooms):\n"
    "        file.write(f\"{a:.3f},{r},{2 * a + 0.1 * r:.3f}\\n\")\n"
    "```\n\n"
    "```yaml\n"
    "model: lenet\n"
    "data: {source: npy, files: [x=images.npy, y=labels.npy]}\n"
    "epochs: 3\n"
    "```\n\n"
    "A column of numbers to learn is `target: number`; the model gives one "
    "number, and the loss says how far off it is:\n\n"
    "```yaml\n"
    "model: mlp(classes=1)\n"
    "loss: mse\n"
    "data: {source: csv, file: houses.csv, label: price, target: number}\n"
    "epochs: 20\n"
    "```\n\n"
    "Data larger than memory, of a library or of a program of your own: "
    "[streams.md](streams.md).\n\n"
    "Sources that have no test part of their own are evaluated on what "
    "`eval: {data: ...}` names, in the same form as `data`, or on what `split` "
    "holds back.\n\n"
    "Tables may have missing cells, columns of words and numbers of any scale; "
    "what fills, scales and numbers them is taken from the rows that are "
    "trained on:\n\n"
    "```python\n"
    "import numpy as np\n\n"
    "area = np.random.default_rng(1).uniform(20, 200, 200)\n"
    "with open(\"flats.csv\", \"w\") as file:\n"
    "    file.write(\"area,district,price\\n\")\n"
    "    for i, a in enumerate(area):\n"
    "        district = (\"north\", \"old town\", \"\")[i % 3]\n"
    "        cell = \"\" if i % 7 == 0 else f\"{a:.1f}\"\n"
    "        file.write(f\"{cell},{district},{a / 50 + i % 3:.3f}\\n\")\n"
    "```\n\n"
    "```yaml\n"
    "model: mlp(classes=1)\n"
    "loss: mse\n"
    "data:\n"
    "  source: csv\n"
    "  file: flats.csv\n"
    "  target: number\n"
    "  missing: median\n"
    "  standardise: true\n"
    "  categories: one_hot\n"
    "  split: {eval: 0.2, seed: 1}\n"
    "epochs: 5\n"
    "```\n";

constexpr const char* kSplit =
    "\n## Split\n\n"
    "`eval` is a share below 1, rounded to whole samples, or from 2 on their "
    "number; `split: 0.1` alone is a share too. Which samples these are is a "
    "function of `seed` (0) and the number of samples: not of the job's seed, "
    "nor of the run, so members and resumed runs have the same ones. Training "
    "has the rest, and no sample is in both. `limit` counts first.\n\n"
    "- Where the source has a test part, the split wins: that part is not "
    "used, and the log says so. It can be evaluated later.\n"
    "- Samples of `text` and `tokens` are windows over one long row, of which "
    "neighbours may overlap. There the end of the row is held back, whatever "
    "the seed, and windows that overlap with it are in neither part: no token "
    "that is predicted in the evaluation was seen in training.\n"
    "- Images that are held back are only brought to the scale of those of "
    "training (`mean`, `std`).\n"
    "- `split` does not go with `eval.data`, nor with `networks`.\n";

// Where the files of public data sets go.
struct PublicSet {
  const char* name;
  const char* files;
  const char* use;
};

constexpr PublicSet kPublicSets[] = {
    {"MNIST, Fashion-MNIST, KMNIST",
     "`train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, "
     "`t10k-images-idx3-ubyte`, `t10k-labels-idx1-ubyte` in one folder, "
     "unpacked with `gunzip`",
     "`idx` with `folder`"},
    {"EMNIST",
     "`emnist-letters-train-images-idx3-ubyte` and its labels, unpacked with "
     "`gunzip`; the images lie on their side, as published",
     "`idx` with `images` and `labels`"},
    {"CIFAR-10", "`cifar-10-binary.tar.gz`, unpacked: `cifar-10-batches-bin/`",
     "`cifar10`"},
    {"CIFAR-100", "`cifar-100-binary.tar.gz`, unpacked: `cifar-100-binary/`",
     "`cifar100`"},
    {"ImageNet, Imagenette, flowers",
     "a folder for every class with its pictures, one such tree for training "
     "and one for validation",
     "`images`"},
    {"ShapeNet part",
     "`shapenetcore_partanno_segmentation_benchmark_v0/`, unpacked",
     "`clouds` with `list: "
     ".../train_test_split/shuffled_train_file_list.json`, "
     "for parts with `labels: points`"},
    {"WikiText-2, WikiText-103, Penn Treebank",
     "`wiki.train.tokens` and its kin as they are",
     "`text` with `unit: words` and `val_fraction: 0`"},
    {"Tiny Shakespeare, enwik8, any book", "the text file as it is",
     "`text`; enwik8 with `unit: bytes`"},
    {"OpenWebText, FineWeb",
     "`train.bin` and `val.bin` as nanoGPT's `prepare.py` writes them, or "
     "the shards of llm.c",
     "`tokens` with `vocab: 50257`; llm.c's with `skip: 1024`"},
    {"Iris, wine, other tables", "the `.csv` file as it is",
     "`csv`; wine quality with `separator: semicolon`"},
    {"Anything larger than memory",
     "shards: many files as `safetensors.numpy.save_file` writes them, or "
     "`x-0000.npy`, `y-0000.npy`, ...",
     "`shards`"},
    {"Anything in Python",
     "`numpy.save` of one array per field, `numpy.savez` or "
     "`safetensors.numpy.save_file` of all",
     "`npy`, `safetensors`"},
};

// Text in a table must not end its cell.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string default_text(const Option& option) {
  if (option.required) return "must be given";
  return option.value.empty() ? "none" : "`" + option.value + "`";
}

std::string options_text(const std::vector<Option>& options) {
  std::string text =
      "| Option | Takes | Default | Meaning |\n| --- | --- | --- | --- |\n";
  for (const Option& option : options) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", option.name,
                        cell(kind_text(option)), cell(default_text(option)),
                        cell(option.meaning));
  }
  return text;
}

std::string public_sets() {
  std::string text =
      "\n## Which files go where\n\n`scripts/get_data.py` fetches and unpacks "
      "some of these, and prints the lines for a job.\n\n"
      "| Data set | Files | Source |\n| --- | --- | --- |\n";
  for (const PublicSet& set : kPublicSets) {
    text += fmt::format("| {} | {} | {} |\n", set.name, set.files, set.use);
  }
  return text;
}

std::string section(const Source& source) {
  return fmt::format("\n## {}\n\n{}\n\nFields: {}\n\n{}", source.name,
                     source.summary, source.fields,
                     options_text(source.options));
}

constexpr const char* kAugment =
    "\n## Augmentation\n\n`data: {augment: {crop: 4, flip: true}}`, for "
    "images: cropped, flipped, rotated, coloured, normalised, cut out of, then "
    "mixed. Evaluation takes `mean` and `std` alone, and the labels as they "
    "are.\n\n"
    "- Every change is drawn from the seed, the epoch and the number of the "
    "sample, each by itself: one more leaves the others as they were.\n"
    "- `rotate` is bilinear. Colours are those of torchvision's `ColorJitter`, "
    "in a random order, of pixels from 0 to 1; grey images have neither "
    "saturation nor hue.\n"
    "- `cutout` is that of DeVries and Taylor (2017): after `mean` and `std`, "
    "so "
    "its zeros are the mean; its middle is any pixel, so a part may lie "
    "outside.\n"
    "- `mixup` is that of Zhang et al. (2017), with a partner from all of the "
    "data and a share of its own for every sample. The loss of a training is "
    "then the cross entropy with probabilities; a model whose labels are read "
    "by something else is refused. Metrics are those of evaluation, on plain "
    "labels.\n\n";

}  // namespace

std::string data_page() {
  std::string page = kIntro;
  page += "| Source | |\n| --- | --- |\n";
  for (const Source& source : all_sources()) {
    page +=
        fmt::format("| [`{0}`](#{0}) | {1} |\n", source.name, source.summary);
  }
  page += public_sets();
  page += kOwnData;
  page += kSplit;
  for (const Source& source : all_sources()) page += section(source);
  return page + kAugment + options_text(augment_options());
}

}  // namespace braid::data
