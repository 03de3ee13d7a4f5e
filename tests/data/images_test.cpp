#include <cmath>

#include "braid/data/loader.h"
#include "braid/data/picture.h"
#include "data/png_builder.h"
#include "source_dir.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::string fixture(const std::string& name) {
  return io::read_text(fs::path(kSourceDir) / "tests/io/fixtures" / name);
}

Picture decode(const std::string& text) {
  return decode_picture(io::bytes_of(text), "some/picture");
}

std::string refused(const std::string& text) {
  return error_of<std::runtime_error>([&] { decode(text); });
}

using Colours = std::vector<uint8_t>;

class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_picture_decoders()) GTEST_SKIP() << "no libpng and libjpeg";
  }
};

const std::string kTwoByTwo =
    png_text(2, 2, 2, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\xFF");

TEST_F(Pictures, DecodePngOfEveryColourType) {
  Picture rgb = decode(kTwoByTwo);
  EXPECT_EQ(rgb.height, 2);
  EXPECT_EQ(rgb.width, 2);
  EXPECT_EQ(rgb.rgb, (Colours{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}));
  EXPECT_EQ(decode(png_text(1, 2, 0, "\x05\xFA")).rgb,
            (Colours{5, 5, 5, 250, 250, 250}));
  // What is transparent keeps its colour.
  EXPECT_EQ(decode(png_text(1, 2, 6, "\x01\x02\x03\xFF\x04\x05\x06\x00"s)).rgb,
            (Colours{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(decode(png_text(1, 1, 4, "\x09\x80")).rgb, (Colours{9, 9, 9}));
}

// Pillow decodes (12, 20) of the ramp to (121, 120, 128).
TEST_F(Pictures, DecodeJpeg) {
  for (const char* name : {"ramp.jpg", "ramp_progressive.jpg"}) {
    Picture ramp = decode(fixture(name));
    ASSERT_EQ(ramp.height, 24);
    ASSERT_EQ(ramp.width, 40);
    const uint8_t* pixel = &ramp.rgb[3 * (12 * 40 + 20)];
    EXPECT_NEAR(pixel[0], 121, 2) << name;
    EXPECT_NEAR(pixel[1], 120, 2) << name;
    EXPECT_NEAR(pixel[2], 128, 2) << name;
  }
  Picture grey = decode(fixture("grey.jpg"));
  const uint8_t* pixel = &grey.rgb[3 * (12 * 40 + 20)];
  EXPECT_NEAR(pixel[0], 120, 2);
  EXPECT_EQ(pixel[0], pixel[2]);
}

TEST_F(Pictures, RefuseOtherFiles) {
  expect_contains(refused("GIF89a"), "expected a PNG or JPEG file");
  expect_contains(refused(""), "expected a PNG or JPEG file");
  expect_contains(refused(fixture("cmyk.jpg")), "cannot decode JPEG");
}

TEST_F(Pictures, RefuseEveryBeginning) {
  for (const std::string& good :
       {kTwoByTwo, fixture("ramp.jpg"), fixture("ramp_progressive.jpg")}) {
    // A reader may do without what comes after the pixels: sums and the mark
    // of the end (JPEG: 2, PNG: 20 bytes).
    for (size_t length = 0; length + 20 < good.size(); ++length) {
      ASSERT_NE(refused(good.substr(0, length)), "") << length;
    }
  }
}

TEST_F(Pictures, BearEveryChange) {
  for (const std::string& good :
       {kTwoByTwo, fixture("ramp.jpg"), fixture("ramp_progressive.jpg")}) {
    for (size_t at = 0; at < good.size(); ++at) {
      for (char mask : {'\x01', '\x80', '\xFF'}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ mask);
        try {
          Picture picture = decode(bad);
          EXPECT_EQ(picture.rgb.size(),
                    static_cast<size_t>(3 * picture.height * picture.width));
        } catch (const std::runtime_error&) {
        }
      }
    }
  }
}

TEST_F(Pictures, DoNotBelieveSizes) {
  std::string huge = png_text(1, 1, 0, "a");
  auto with_size = [&](uint32_t height, uint32_t width) {
    std::string header = big_endian(width, 4) + big_endian(height, 4) +
                         std::string{8, 0, 0, 0, 0};
    return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header) +
           huge.substr(8 + 25);
  };
  expect_contains(refused(with_size(100000, 100000)),
                  "expected at most 67108864 pixels");
  expect_contains(refused(with_size(8000, 8000)),
                  "expected a smaller size than 8000 x 8000");
  refused(with_size(0, 5));
  std::string ramp = fixture("ramp_progressive.jpg");
  size_t frame = ramp.find("\xFF\xC2");
  ramp.replace(frame + 5, 4, big_endian(8000, 2) + big_endian(8000, 2));
  expect_contains(refused(ramp), "cannot decode JPEG");
  ramp.replace(frame + 5, 4, big_endian(60000, 2) + big_endian(60000, 2));
  expect_contains(refused(ramp), "expected at most 67108864 pixels");
}

// Grey pictures, so that one channel tells all.
Picture grey_picture(int64_t height, int64_t width, const Colours& values) {
  Picture picture{height, width, {}};
  for (uint8_t value : values) picture.rgb.insert(picture.rgb.end(), 3, value);
  return picture;
}

std::vector<float> resized(const Picture& picture, const Square& part,
                           int64_t side) {
  std::vector<float> out(static_cast<size_t>(side * side));
  resize_picture(picture, part, side, 1, out.data());
  return out;
}

void expect_near(const std::vector<float>& values,
                 const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i] * 255, expected[i], 2e-3) << i;
  }
}

// Expected numbers are those of Pillow 12: resize of mode "F", BILINEAR.
TEST(Resize, AgreesWithPillow) {
  Picture picture =
      grey_picture(4, 5, {0,  10, 200, 30, 255, 90,  7, 60, 180, 20,
                          33, 44, 150, 66, 77,  240, 1, 2,  3,   128});
  expect_near(resized(picture, {0, 0, 4, 5}, 3),
              {19.328571F, 106.466667F, 137.571426F, 46.071426F, 91.333328F,
               80.428574F, 107.614281F, 33.733334F, 73.785713F});
  expect_near(resized(picture, {0, 0.5, 4, 4}, 2),
              {50.821430F, 115.142860F, 61.035713F, 68.75F});
  Picture small = grey_picture(2, 2, {0, 100, 200, 40});
  std::vector<float> large = resized(small, {0, 0, 2, 2}, 5);
  EXPECT_NEAR(large[6] * 255, 27.4, 1e-3);
  EXPECT_NEAR(large[12] * 255, 85, 1e-3);
  EXPECT_NEAR(large[24] * 255, 40, 1e-3);
}

TEST(Resize, LeavesAPictureOfTheSameSize) {
  Picture picture{2, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}};
  std::vector<float> out(12);
  resize_picture(picture, {0, 0, 2, 2}, 2, 3, out.data());
  for (size_t i = 0; i < 4; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_FLOAT_EQ(out[4 * c + i] * 255, picture.rgb[3 * i + c]);
    }
  }
}

class Images : public Pictures {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, text);
  }
  DatasetPtr open(Texts texts = {}) {
    texts.emplace("folder", ".");
    texts.emplace("side", "2");
    return open_source("images", texts, scratch_.path());
  }
  std::string open_error(const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { open(texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Images, AreLabelledByFolder) {
  write("dog/2.png", kTwoByTwo);
  write("cat/1.PNG", kTwoByTwo);
  write("cat/0.jpeg", fixture("ramp.jpg"));
  write("cat/notes.txt", "none");
  write(".git/x.png", "none");
  write("README", "none");
  DatasetPtr data = open();
  EXPECT_EQ(data->fields(),
            (std::vector<Field>{{"x", DType::kFloat32, {3, 2, 2}},
                                {"y", DType::kInt64, {}, 2}}));
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(label_of(*data, 0), 0);
  EXPECT_EQ(label_of(*data, 2), 1);
  EXPECT_EQ(values_of<float>(*data, 1, 0), values_of<float>(*data, 2, 0));
  EXPECT_EQ(values_of<float>(*data, 2, 0)[11], 1);
}

TEST_F(Images, AreCroppedOrStretched) {
  // Two squares side by side, black and white.
  write("a/0.png", png_text(1, 4, 0, "\x00\x00\xFF\xFF"s));
  Texts texts = {{"colour", "grey"}, {"side", "1"}};
  EXPECT_EQ(open(texts)->fields()[0].shape, (Shape{1, 1, 1}));
  EXPECT_NEAR(values_of<float>(*open(texts), 0, 0)[0], 0.5, 1e-6);
  texts = {{"colour", "grey"}, {"side", "2"}, {"fit", "stretch"}};
  std::vector<float> x = values_of<float>(*open(texts), 0, 0);
  EXPECT_LT(x[0], 0.2);
  EXPECT_GT(x[1], 0.8);
}

TEST_F(Images, RefuseEmptyFolders) {
  expect_contains(open_error(), "expected a folder for every class, got none");
  write("cat/notes.txt", "none");
  expect_contains(open_error(), "expected files *.png, *.jpg or *.jpeg");
  expect_contains(open_error({{"folder", "nowhere"}}), "nowhere");
}

TEST_F(Images, NameABadFileWhenItIsRead) {
  write("cat/0.png", kTwoByTwo);
  write("cat/1.png", kTwoByTwo.substr(0, 60));
  Loader loader(open(), {.batch_size = 1, .shuffle = false});
  EXPECT_NE(loader.next(), nullptr);
  expect_contains(error_of<std::runtime_error>([&] { loader.next(); }),
                  "cat/1.png");
}

}  // namespace
}  // namespace braid::data
