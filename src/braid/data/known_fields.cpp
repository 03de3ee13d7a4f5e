#include "braid/data/known_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/data/table_facts.h"
#include "braid/io/file/file.h"

namespace braid::data {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// Names may hold any bytes; JSON takes only UTF-8. Others are kept as numbers.
Json text_json(const std::string& text) {
  Json json(text);
  try {
    json.dump();
    return json;
  } catch (const Json::exception&) {
    return Json(std::vector<uint8_t>(text.begin(), text.end()));
  }
}

std::string read_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  auto bytes = json.get<std::vector<uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

Json texts_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(text_json(text));
  return json;
}

std::vector<std::string> read_texts(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& text : json) texts.push_back(read_text(text));
  return texts;
}

Json table_json(const TableFacts& table) {
  Json columns = Json::array();
  for (const ColumnFacts& column : table.columns) {
    columns.push_back({{"name", text_json(column.name)},
                       {"is_category", column.is_category},
                       {"fill", column.fill},
                       {"mean", column.mean},
                       {"deviation", column.deviation},
                       {"categories", texts_json(column.categories)}});
  }
  return {{"missing", table.missing},
          {"standardise", table.standardise},
          {"categories", table.categories},
          {"unknown", table.unknown},
          {"columns", columns}};
}

TableFacts read_table(const Json& json) {
  TableFacts table{.missing = json.at("missing"),
                   .standardise = json.at("standardise"),
                   .categories = json.at("categories"),
                   .unknown = json.at("unknown")};
  for (const Json& column : json.at("columns")) {
    table.columns.push_back(
        {.name = read_text(column.at("name")),
         .is_category = column.at("is_category"),
         .fill = column.at("fill"),
         .mean = column.at("mean"),
         .deviation = column.at("deviation"),
         .categories = read_texts(column.at("categories"))});
  }
  return table;
}

Json fields_json(const std::vector<Field>& fields) {
  Json list = Json::array();
  for (const Field& field : fields) {
    Json json = {{"name", text_json(field.name)},
                 {"dtype", dtype_name(field.dtype)},
                 {"shape", field.shape},
                 {"classes", field.classes}};
    if (!field.class_names.empty()) {
      json["class_names"] = texts_json(field.class_names);
    }
    if (!field.unit.empty()) json["unit"] = field.unit;
    if (field.table) json["table"] = table_json(*field.table);
    list.push_back(std::move(json));
  }
  return {{"version", kVersion}, {"fields", list}};
}

Field read_field(const Json& json) {
  Field field{.name = read_text(json.at("name")),
              .dtype = find_dtype(json.at("dtype").get<std::string>()).value(),
              .shape = json.at("shape"),
              .classes = json.at("classes")};
  if (json.contains("class_names")) {
    field.class_names = read_texts(json["class_names"]);
  }
  if (json.contains("unit")) field.unit = json["unit"];
  if (json.contains("table")) {
    field.table =
        std::make_shared<const TableFacts>(read_table(json.at("table")));
  }
  return field;
}

}  // namespace

bool has_known(const std::vector<Field>& fields) {
  return std::ranges::any_of(fields, [](const Field& field) {
    return !field.class_names.empty() || field.table != nullptr;
  });
}

std::string known_text(const std::vector<Field>& fields) {
  if (!has_known(fields)) return "";
  std::string text = fields_json(fields).dump();
  return fmt::format(" known {:016x} {}", stable_hash(text), text.size());
}

std::string known_json(const std::vector<Field>& fields) {
  return fields_json(fields).dump(1) + "\n";
}

std::vector<Field> parse_known_fields(std::string_view text,
                                      const std::string& file) {
  try {
    Json json = Json::parse(text);
    if (json.at("version") != kVersion) {
      fail_world("[data] {} is of version {}, this program knows {}", file,
                 json.at("version").dump(), kVersion);
    }
    std::vector<Field> fields;
    for (const Json& field : json.at("fields")) {
      fields.push_back(read_field(field));
    }
    return fields;
  } catch (const Json::exception& error) {
    fail_world("[data] {} does not say how data were read: {}", file,
               error.what());
  } catch (const std::bad_optional_access&) {
    fail_world("[data] {} has a field of an unknown type", file);
  }
}

std::vector<Field> read_known_fields(const std::filesystem::path& path) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  std::vector<Field> fields = parse_known_fields(text, path.string());
  file.check();
  return fields;
}

}  // namespace braid::data
