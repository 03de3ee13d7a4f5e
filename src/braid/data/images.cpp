// A folder of pictures: FOLDER/CLASS/*.png, *.jpg or *.jpeg. Classes are
// numbered by the order of their names.
#include <algorithm>
#include <cctype>
#include <system_error>

#include "braid/base/error.h"
#include "braid/data/picture.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;

struct Entry {
  fs::path path;
  int64_t label;
};

std::vector<fs::path> sorted_entries(const fs::path& folder,
                                     const std::string& who) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) io::fail_file(who, "cannot list", folder, error.value());
  std::ranges::sort(paths);
  return paths;
}

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

struct Listing {
  std::vector<Entry> entries;
  int64_t classes = 0;
  std::vector<std::string> names;  // of the classes
};

// A class without pictures is a mistake: its number would mean nothing.
void add_class(const fs::path& folder, const std::string& who,
               Listing& listing) {
  size_t before = listing.entries.size();
  for (const fs::path& path : sorted_entries(folder, who)) {
    if (!is_hidden(path) && is_picture(path)) {
      listing.entries.push_back({path, listing.classes});
    }
  }
  if (listing.entries.size() == before) {
    fail_world("[{}] expected files *.png, *.jpg or *.jpeg, got none ({})", who,
               folder.string());
  }
  ++listing.classes;
  listing.names.push_back(folder.filename().string());
}

Listing list_pictures(const fs::path& folder, const std::string& who) {
  Listing listing;
  std::error_code ignored;
  for (const fs::path& path : sorted_entries(folder, who)) {
    bool is_class = fs::is_directory(path, ignored) && !is_hidden(path);
    if (is_class) add_class(path, who, listing);
  }
  if (listing.classes == 0) {
    fail_world("[{}] expected a folder for every class, got none ({})", who,
               folder.string());
  }
  return listing;
}

struct Look {
  int64_t side;
  int64_t channels;
  bool crop;
};

// The whole picture, or the largest square in its middle.
Square part_of(const Picture& picture, bool crop) {
  auto height = static_cast<double>(picture.height);
  auto width = static_cast<double>(picture.width);
  if (!crop) return {0, 0, height, width};
  double side = std::min(height, width);
  return {(height - side) / 2, (width - side) / 2, side, side};
}

class Images : public Dataset {
 public:
  Images(const fs::path& folder, Listing listing, const Look& look)
      : Dataset(
            folder.string(),
            {{"x",
              DType::kFloat32,
              {look.channels, look.side, look.side},
              0,
              true},
             {"y", DType::kInt64, {}, listing.classes, true, listing.names}},
            static_cast<int64_t>(listing.entries.size())),
        entries_(std::move(listing.entries)),
        look_(look) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    const Entry& entry = entries_[static_cast<size_t>(index)];
    io::MappedFile file(entry.path);
    Picture picture = decode_picture(file.bytes(), entry.path.string());
    resize_picture(picture, part_of(picture, look_.crop), look_.side,
                   look_.channels, reinterpret_cast<float*>(out[0]));
    file.check();
    *reinterpret_cast<int64_t*>(out[1]) = entry.label;
  }
  std::string place(size_t, int64_t index) const override {
    return entries_[static_cast<size_t>(index)].path.string();
  }

 private:
  std::vector<Entry> entries_;
  Look look_;
};

DatasetPtr open_images(const Options& options) {
  if (!has_picture_decoders()) {
    fail_world(
        "[{}] this build cannot decode pictures\nHINT: install "
        "libpng-dev and libjpeg-dev and build again, or save the "
        "pictures as .npy",
        options.who());
  }
  Look look{.side = options.whole("side"),
            .channels = options.text("colour") == "rgb" ? 3 : 1,
            .crop = options.text("fit") == "crop"};
  if (look.side > 4096) {
    fail_usage("[{}] expected a side of at most 4096 pixels, got {}",
               options.who(), look.side);
  }
  return std::make_shared<Images>(
      options.path("folder"),
      list_pictures(options.path("folder"), options.who()), look);
}

}  // namespace

Source images_source() {
  return {"images",
          "folders of PNG and JPEG files, one folder per class",
          "x f32 [3, side, side] (grey: [1, side, side]), y i64",
          {{"folder",
            Kind::kPath,
            "",
            "that holds a folder for every class, numbered by name",
            {},
            true},
           {"side", Kind::kWhole, "224", "pixels of a side, after resizing"},
           choice_option("fit", {"crop", "stretch"},
                         "take the square in the middle, or all of it"),
           choice_option("colour", {"rgb", "grey"}, "channels")},
          open_images};
}

}  // namespace braid::data
