// Archives that are damaged or made to do harm: each is refused with a text
// that names the problem, and no other kind of error leaves the reader.
#include <algorithm>

#include "io/pt2/hostile.h"

namespace braid::io::pt2 {
namespace {

using namespace std::string_literals;

TEST(Pt2Hostile, the_unchanged_archive_is_taken) {
  TestArchive archive(fixtures("tied_")[0]);
  EXPECT_EQ(read_text_as_exported(archive.file()).weights.size(), 3u);
}

TEST(Pt2Hostile, bad_frames) {
  expect_refused({
      {"path traversal",
       [](TestArchive& a) { a.parts()[0].name = "../../etc/passwd"; },
       "'../../etc/passwd' leaves its folder"},
      {"compressed bomb",
       [](TestArchive& a) {
         ZipPart& part = a.part(kModel);
         part.method = 8, part.bytes = 0xfffffff0u, part.packed_bytes = 40;
       },
       "compressed (method 8, 4294967280 bytes from 40)"},
      {"encrypted", [](TestArchive& a) { a.part(kModel).flags = 1; },
       "is encrypted"},
      {"duplicate", [](TestArchive& a) { a.parts().push_back(a.part(kModel)); },
       "models/model.json' occurs twice"},
      {"overlapping",
       [](TestArchive& a) {
         a.parts()[0].bytes = a.parts()[0].content.size() + 1;
       },
       "overlap"},
      {"offset past the end",
       [](TestArchive& a) { a.parts()[1].header = 1u << 30; },
       "header past the end"},
      {"size past the end",
       [](TestArchive& a) { a.parts()[1].bytes = 1u << 30; }, "leaves the"},
      {"damaged text", [](TestArchive& a) { a.part(kModel).checksum = 1; },
       "models/model.json: the checksum is wrong"},
      {"second folder",
       [](TestArchive& a) {
         a.parts().push_back({.name = "other/archive_format"});
       },
       "'other/archive_format' lies outside the folder 'tied_"},
  });
}

TEST(Pt2Hostile, wrong_or_missing_parts) {
  expect_refused({
      {"format", set("archive_format", "zip"),
       "archive_format: 'zip' is not supported"},
      {"format with control characters", set("archive_format", "\x1b[2J\n"),
       "'\\x1b[2J\\x0a' is not supported"},
      {"archive version", set("archive_version", "1"),
       "archive_version: '1' is not supported, only '0' is"},
      {"byte order", set("byteorder", "big"), "byteorder: 'big'"},
      {"no version", remove("archive_version"),
       "archive_version: this part is missing"},
      {"no format", remove("archive_format"), "no 'archive_format' among"},
      {"no model", remove(kModel), "no program (models/model.json)"},
      {"two models", set("models/second.json", "{}"), "2 programs (model, "},
      {"no weights config", remove(kWeights),
       "model_weights_config.json: this part is missing"},
      {"no constants config", remove(kConstants),
       "model_constants_config.json: this part is missing"},
      {"no weight", remove("data/weights/weight_0"),
       "there is no file 'data/weights/weight_0'"},
  });
}

TEST(Pt2Hostile, other_layouts_of_torch) {
  auto only = [](const std::string& path, const std::string& content) {
    return [=](TestArchive& a) {
      a.parts().clear();
      a.set(path, content);
    };
  };
  std::string program = "serialized_exported_program.json";
  expect_refused({
      {"torch 2.6", only(program, R"({"torch_version": "2.6.0"})"),
       "written by torch 2.6.0 in an old layout"},
      {"older", only(program, "not JSON"), "written by torch 2.7 or older"},
      {"hint", only(program, "{}"), "HINT: export the model again"},
      {"pickled state dict",
       [](TestArchive& a) {
         a.remove(kWeights);
         a.set("data/weights/model.pt", "pickle");
       },
       "in an old layout (weights are pickled)"},
      {"torch.save", only("data.pkl", "pickle"), "written by torch.save"},
      {"torch.jit.save", only("constants.pkl", "pickle"),
       "written by torch.jit.save"},
      {"compiled only",
       [](TestArchive& a) {
         a.remove(kModel);
         a.set("data/aotinductor/model/x.so", "elf");
       },
       "archives of compiled models"},
  });
}

TEST(Pt2Hostile, versions) {
  auto major = [](Json value) {
    return in_json(kModel,
                   [=](Json& j) { j["schema_version"]["major"] = value; });
  };
  expect_refused({
      {"older schema", major(7), "(written by torch 2."},
      {"newer schema", major(9), "is not supported, only 8.x is"},
      {"text", major("8"), "schema_version.major: expected an integer"},
      {"missing", in_json(kModel, [](Json& j) { j.erase("schema_version"); }),
       "no 'schema_version'"},
  });
}

TEST(Pt2Hostile, json_that_is_none) {
  std::string deep(100'000, '[');
  expect_refused({
      {"empty", set(kModel, ""), "model.json: not valid JSON"},
      {"cut", set(kModel, "{\"graph_module\": {"), "not valid JSON at byte"},
      {"a list", set(kModel, "[]"), "expected an object, found array"},
      {"deep lists", set(kModel, deep), "nested deeper than 256"},
      {"deep objects",
       [](TestArchive& a) {
         std::string text;
         for (int i = 0; i < 100'000; ++i) text += "{\"a\":";
         a.set(kModel, text);
       },
       "nested deeper than 256"},
      {"not UTF-8", set(kModel, "{\"a\": \"\xc3\x28\"}"), "not valid JSON"},
      {"NaN", set(kWeights, "{\"config\": NaN}"), "not valid JSON"},
      {"zero byte", set(kWeights, "{}\0"s), "a zero byte"},
      {"equal keys", set(kWeights, R"({"config": {}, "config": {}})"),
       "the key 'config' twice"},
      {"huge number", set(kWeights, R"({"config": 1e999})"), "not valid JSON"},
  });
}

TEST(Pt2Hostile, all_problems_stand_in_one_message) {
  TestArchive archive(fixtures("tied_")[0]);
  archive.set("byteorder", "big");
  archive.remove("data/weights/weight_0");
  archive.change_json(kModel, [](Json& json) {
    Json& graph = json["graph_module"]["graph"];
    graph["tensor_values"]["embedding"]["sizes"][0] = {{"as_int", -5}};
    graph["nodes"][3]["target"] = nullptr;
  });
  std::string text = refusal(archive.file());
  expect_contains(text, "5 problems");
  expect_contains(text, "byteorder: 'big'");
  expect_contains(text, "size or stride -5");
  expect_contains(text, "nodes[3].target: expected a text, found null");
  expect_contains(text, "emb.weight.path_name: there is no file");
  expect_contains(text, "head.weight.path_name: there is no file");
}

TEST(Pt2Hostile, a_long_list_of_problems_is_cut) {
  TestArchive archive(fixtures("tied_")[0]);
  archive.change_json(kModel, [](Json& json) {
    json["graph_module"]["graph"]["inputs"] = Json(5000, 1);
  });
  std::string text = refusal(archive.file());
  expect_contains(text, " more");
  EXPECT_LE(std::ranges::count(text, '\n'), 25);
}

TEST(Pt2Hostile, every_shortened_file_is_refused) {
  for (const auto& path : fixtures("")) {
    SCOPED_TRACE(path.filename().string());
    std::string file = read_text(path);
    std::vector<uint64_t> cuts = {0, 1, 4, file.size() - 1, file.size() - 22};
    ZipArchive zip(bytes_of(file), "f");
    for (const ZipEntry& entry : zip.entries()) {
      uint64_t end = entry.begin + entry.bytes;
      for (uint64_t cut : {entry.header, entry.header + 30, entry.begin, end}) {
        cuts.push_back(cut);
        cuts.push_back(cut + 1);
      }
    }
    for (uint64_t cut : cuts) {
      SCOPED_TRACE(cut);
      expect_contains(refusal(file.substr(0, cut)), "net.pt2");
    }
  }
}

// Whatever becomes of the archive: a program, or a std::runtime_error.
TEST(Pt2Hostile, every_removed_or_replaced_json_value_is_survived) {
  TestArchive original(fixtures("tied_")[0]);
  Json json = Json::parse(original.part(kModel).content);
  Json flat = json.flatten();
  size_t num_refused = 0, i = 0;
  for (auto& [pointer, value] : flat.items()) {
    if (i++ % 7 != 0) continue;
    for (const Json& other : {Json(), Json(-1), Json("x"), Json::array()}) {
      TestArchive archive = original;
      Json changed = json;
      changed[Json::json_pointer(pointer)] = other;
      archive.set(kModel, changed.dump());
      try {
        read_text_as_exported(archive.file());
      } catch (const std::runtime_error&) {
        ++num_refused;
      }
    }
  }
  EXPECT_GT(num_refused, 100u);
}

}  // namespace
}  // namespace braid::io::pt2
