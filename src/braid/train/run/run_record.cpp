#include "braid/train/run/run_record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"

namespace braid::train {
namespace {

using Json = nlohmann::json;

Json best_json(const Best& best) {
  return {{"value", best.value ? Json(*best.value) : Json()},
          {"step", best.step},
          {"worse", best.worse},
          {"metric", best.metric}};
}

Best read_best(const Json& json) {
  Best best{.value = {},
            .step = json.at("step"),
            .worse = json.at("worse"),
            .metric = json.value("metric", "")};
  if (!json.at("value").is_null()) best.value = json.at("value").get<double>();
  return best;
}

// JSON has no numbers that are not finite: they are texts, as "-inf".
Json number_json(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::to_string(number));
}

Json sums_json(const std::vector<double>& sums) {
  Json list = Json::array();
  for (double sum : sums) list.push_back(number_json(sum));
  return list;
}

Json scalars_json(const io::Scalars& scalars) {
  Json list = Json::array();
  for (const auto& [name, value] : scalars) {
    list.push_back({name, number_json(value)});
  }
  return list;
}

double read_number(const Json& sum) {
  if (sum.is_number()) return sum;
  auto text = sum.get<std::string>();
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  if (text.ends_with("nan")) return NAN;
  fail_world("[resume] expected a number in the record of the run, got '{}'",
             text);
}

std::vector<double> read_sums(const Json& list) {
  if (!list.is_array()) {
    fail_world("[resume] expected a list of numbers in the record of the run");
  }
  std::vector<double> sums;
  for (const Json& sum : list) sums.push_back(read_number(sum));
  return sums;
}

io::Scalars read_scalars(const Json& list) {
  io::Scalars scalars;
  for (const Json& entry : list) {
    scalars.emplace_back(entry.at(0), read_number(entry.at(1)));
  }
  return scalars;
}

Json skips_json(const std::vector<Skips>& skips) {
  Json list = Json::array();
  for (const Skips& skip : skips) {
    list.push_back({skip.in_a_row, skip.since_line});
  }
  return list;
}

std::vector<Skips> read_skips(const Json& list) {
  std::vector<Skips> skips;
  for (const Json& entry : list) skips.push_back({entry.at(0), entry.at(1)});
  return skips;
}

Json data_json(const std::optional<DataSum>& sum) {
  return sum ? sum_json(*sum) : Json();
}

std::optional<DataSum> read_data(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return read_sum(json);
}

// What records did not always have.
void read_additions(const Json& json, RunRecord& record) {
  auto read = [&](const char* key, auto& value, const auto& parse) {
    if (json.contains(key)) value = parse(json.at(key));
  };
  read("raw_evaluation", record.raw_evaluation, read_scalars);
  read("skips", record.skips, read_skips);
  read("config", record.config,
       [](const Json& text) { return text.get<std::string>(); });
  read("train_data", record.train_data, read_data);
  read("eval_data", record.eval_data, read_data);
}

}  // namespace

bool Best::observe(double number, int64_t at_step, bool higher, double delta) {
  bool is_better =
      std::isfinite(number) &&
      (!value || (higher ? number > *value + delta : number < *value - delta));
  worse = is_better ? 0 : worse + 1;
  if (!is_better) return false;
  value = number;
  step = at_step;
  return true;
}

Json record_json(const RunRecord& r) {
  return {{"step", r.step},
          {"epoch", r.position.epoch},
          {"sample", r.position.sample},
          {"time_s", r.time_s},
          {"loss_sums", sums_json(r.loss_sums)},
          {"loss_counts", r.loss_counts},
          {"best", best_json(r.best)},
          {"early_stop", best_json(r.early_stop)},
          {"last_eval", r.last_eval},
          {"evaluation", scalars_json(r.evaluation)},
          {"raw_evaluation", scalars_json(r.raw_evaluation)},
          {"skips", skips_json(r.skips)},
          {"config", r.config},
          {"train_data", data_json(r.train_data)},
          {"eval_data", data_json(r.eval_data)}};
}

RunRecord read_record(const Json& json) {
  try {
    RunRecord record{.step = json.at("step"),
                     .position = {json.at("epoch"), json.at("sample")},
                     .time_s = json.at("time_s"),
                     .loss_sums = read_sums(json.at("loss_sums")),
                     .loss_counts = json.at("loss_counts"),
                     .best = read_best(json.at("best")),
                     .early_stop = read_best(json.at("early_stop")),
                     .last_eval = json.at("last_eval"),
                     .evaluation = read_scalars(json.at("evaluation"))};
    read_additions(json, record);
    return record;
  } catch (const Json::exception& error) {
    fail_world("[resume] the record of the run cannot be read: {}",
               error.what());
  }
}

}  // namespace braid::train
