// Tables of changed archives and the texts that they are refused with.
#pragma once

#include "io/pt2/archive.h"

namespace braid::io::pt2 {

using Json = nlohmann::json;

inline const std::string kModel = "models/model.json";
inline const std::string kWeights = "data/weights/model_weights_config.json";
inline const std::string kConstants =
    "data/constants/model_constants_config.json";

using Change = std::function<void(TestArchive&)>;

struct Case {
  std::string name;
  Change change;
  std::string text;  // part of the message
};

inline void expect_refused(const std::vector<Case>& cases) {
  for (const Case& row : cases) {
    SCOPED_TRACE(row.name);
    TestArchive archive(fixtures("tied_")[0]);
    row.change(archive);
    std::string text = refusal(archive.file());
    expect_contains(text, "net.pt2: ");
    expect_contains(text, row.text);
  }
}

inline Change in_json(const std::string& path,
                      const std::function<void(Json&)>& change) {
  return [=](TestArchive& archive) { archive.change_json(path, change); };
}

inline Change in_graph(const std::function<void(Json&)>& change) {
  return in_json(kModel,
                 [=](Json& json) { change(json["graph_module"]["graph"]); });
}

inline Change in_signature(const std::function<void(Json&)>& change) {
  return in_json(
      kModel, [=](Json& json) { change(json["graph_module"]["signature"]); });
}

inline Change in_weight(const std::function<void(Json&)>& change) {
  return in_json(kWeights,
                 [=](Json& json) { change(json["config"]["head.bias"]); });
}

inline Change set(const std::string& path, const std::string& content) {
  return [=](TestArchive& archive) { archive.set(path, content); };
}

inline Change remove(const std::string& path) {
  return [=](TestArchive& archive) { archive.remove(path); };
}

}  // namespace braid::io::pt2
