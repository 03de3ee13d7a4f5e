// Folders of point clouds, as ShapeNet part has them:
//
//   FOLDER/CLASS/points/*.pts, or FOLDER/CLASS/*.pts
//   FOLDER/CLASS/points_label/*.seg, or beside the .pts
//
// All clouds are read when the source is opened: of each, a fixed number of
// points is kept.
#include <map>
#include <set>
#include <span>
#include <system_error>

#include "braid/base/error.h"
#include "braid/data/cloud_file.h"
#include "braid/data/cloud_list.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;
using Names = std::vector<std::string>;

// Parts are numbered class by class: those of the second follow those of the
// first. Names are "CLASS/PART", with the number of the file.
class PartNumbers {
 public:
  PartNumbers(const Names* known, std::string who) : who_(std::move(who)) {
    if (!known) return;
    is_known_ = true;
    for (const std::string& name : *known) {
      numbers_.emplace(name, static_cast<int64_t>(numbers_.size()));
    }
    names_ = *known;
  }

  // First all labels are seen, then they have numbers.
  void see(const std::string& class_name, const std::vector<int64_t>& labels) {
    if (is_known_) return;
    std::set<int64_t>& seen = seen_[class_name];
    seen.insert(labels.begin(), labels.end());
  }

  void number(const Names& classes) {
    if (is_known_) return;
    for (const std::string& name : classes) {
      for (int64_t part : seen_[name]) {
        names_.push_back(fmt::format("{}/{}", name, part));
        numbers_.emplace(names_.back(),
                         static_cast<int64_t>(names_.size()) - 1);
      }
    }
  }

  int64_t of(const std::string& class_name, int64_t part,
             const fs::path& file) const {
    auto found = numbers_.find(fmt::format("{}/{}", class_name, part));
    if (found != numbers_.end()) return found->second;
    fail_world(
        "[{}] expected a part that the training data have, got {} of '{}' ({})",
        who_, part, class_name, file.string());
  }

  const Names& names() const { return names_; }

 private:
  std::string who_;
  bool is_known_ = false;
  std::map<std::string, std::set<int64_t>> seen_;  // parts by class
  std::map<std::string, int64_t> numbers_;
  Names names_;
};

struct Clouds {
  std::vector<float> x;    // [N, 3, P]
  std::vector<int64_t> y;  // [N], or [N, P]
};

class CloudReader {
 public:
  CloudReader(const Options& options, const Opening& opening)
      : options_(options),
        list_(list_clouds(options)),
        count_(static_cast<size_t>(options.whole("points"))),
        of_points_(options.text("labels") == "points"),
        parts_(known_parts(opening), options.who()) {}

  DatasetPtr open() {
    auto clouds = std::make_shared<Clouds>();
    make_room(*clouds);
    for (const CloudFile& file : list_.files) add(file, *clouds);
    if (of_points_) number_parts(*clouds);
    return rows_dataset(options_.who(), columns_of(*clouds), 0, clouds);
  }

 private:
  const Names* known_parts(const Opening& opening) const {
    const Field* known = opening.find("y");
    bool has_parts = of_points_ && known && known->shape.size() == 1 &&
                     !known->class_names.empty();
    return has_parts ? &known->class_names : nullptr;
  }

  void make_room(Clouds& clouds) const {
    try {
      size_t rows = list_.files.size();
      clouds.x.resize(rows * 3 * count_);
      clouds.y.reserve(of_points_ ? rows * count_ : rows);
    } catch (const std::exception&) {
      fail_world(
          "[{}] no memory for {} clouds of {} points\nHINT: take fewer "
          "'points', or a 'limit'",
          options_.who(), list_.files.size(), count_);
    }
  }

  void add(const CloudFile& file, Clouds& clouds) {
    std::vector<Point> points = read_points(file.path, options_.who());
    if (options_.flag("normalise")) normalise_points(points);
    std::vector<size_t> drawn =
        draw_points(points.size(), count_, options_.whole("seed"), file.name);
    float* x = clouds.x.data() + next_++ * 3 * count_;
    for (size_t p = 0; p < count_; ++p) {
      for (size_t i = 0; i < 3; ++i) x[i * count_ + p] = points[drawn[p]][i];
    }
    if (!of_points_) {
      clouds.y.push_back(file.label);
      return;
    }
    std::vector<int64_t> labels = labels_of(file, points.size());
    parts_.see(class_name(file), labels);
    for (size_t point : drawn) clouds.y.push_back(labels[point]);
  }

  std::vector<int64_t> labels_of(const CloudFile& file, size_t size) const {
    fs::path path = label_path(file.path);
    std::vector<int64_t> labels = read_point_labels(path, options_.who());
    if (labels.size() == size) return labels;
    fail_world("[{}] expected {} labels as {} has points, got {} ({})",
               options_.who(), size, file.path.filename().string(),
               labels.size(), path.string());
  }

  fs::path label_path(const fs::path& cloud) const {
    std::error_code ignored;
    fs::path beside = cloud;
    beside.replace_extension(".seg");
    fs::path apart =
        cloud.parent_path().parent_path() / "points_label" / beside.filename();
    for (const fs::path& path : {beside, apart}) {
      if (fs::exists(path, ignored)) return path;
    }
    fail_world("[{}] expected labels in {} or {}, got neither", options_.who(),
               beside.string(), apart.string());
  }

  const std::string& class_name(const CloudFile& file) const {
    return list_.classes[static_cast<size_t>(file.label)];
  }

  void number_parts(Clouds& clouds) {
    parts_.number(list_.classes);
    for (size_t i = 0; i < clouds.y.size(); ++i) {
      const CloudFile& file = list_.files[i / count_];
      clouds.y[i] =
          parts_.of(class_name(file), clouds.y[i], label_path(file.path));
    }
  }

  std::vector<Column> columns_of(const Clouds& clouds) const {
    auto rows = static_cast<int64_t>(list_.files.size());
    auto count = static_cast<int64_t>(count_);
    std::string folder = options_.path("folder").string();
    Column x{.field = "x",
             .element = {Element::Kind::kFloat, 4},
             .shape = {rows, 3, count},
             .bytes = std::as_bytes(std::span(clouds.x)),
             .file = folder,
             .is_finite = true};
    Column y{.field = "y",
             .element = {Element::Kind::kSigned, 8},
             .shape = {rows},
             .bytes = std::as_bytes(std::span(clouds.y)),
             .file = folder};
    if (of_points_) y.shape.push_back(count);
    y.class_names = of_points_ ? parts_.names() : list_.classes;
    y.classes = static_cast<int64_t>(y.class_names.size());
    return {x, y};
  }

  const Options& options_;
  CloudList list_;
  size_t count_;
  bool of_points_;
  PartNumbers parts_;
  size_t next_ = 0;
};

DatasetPtr open_clouds(const Options& options, const Opening& opening) {
  return CloudReader(options, opening).open();
}

}  // namespace

Source clouds_source() {
  return {
      .name = "clouds",
      .summary =
          "folders of .pts files, clouds of points, one folder per "
          "class",
      .fields = "x f32 [3, points], y i64 (or i64 [points])",
      .options =
          {{"folder",
            Kind::kPath,
            "",
            "that holds a folder for every class, with .pts files in it or in "
            "its folder points",
            {},
            true},
           {"list", Kind::kPath, "",
            "which clouds: a file with names that end in CLASS/NAME, as JSON "
            "or one per line; else all"},
           {"classes", Kind::kNames, "",
            "which folders, in the order of their numbers; else all, by name"},
           {"points", Kind::kWhole, "1024",
            "of a cloud: so many are drawn, some more than once where it has "
            "fewer"},
           choice_option("labels", {"cloud", "points"},
                         "the class of the cloud, or the part of every point "
                         "as a .seg file has it, beside the cloud or in "
                         "points_label; parts are numbered class by class"),
           {"normalise", Kind::kFlag, "true",
            "the middle of a cloud is moved to 0 and its largest distance made "
            "1"},
           seed_option("of the drawing, which is the same in every epoch")},
      .open_with = open_clouds};
}

}  // namespace braid::data
