#include "braid/train/run/run_array_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"

namespace braid::train {

using Json = nlohmann::json;

Json array_record_json(const std::vector<std::unique_ptr<MemberRun>>& members,
                       const Array& array, int64_t ticks,
                       const std::vector<MemberRun*>& due) {
  Json list = Json::array();
  for (const auto& member : members) {
    bool is_due = std::ranges::find(due, member.get()) != due.end();
    list.push_back(
        {{"name", member->name()},
         {"state", member_state_name(member->state)},
         {"failure", member->failure},
         {"record", record_json(member->record())},
         {"place", member->member < 0 ? -1 : array.lane(member->member)},
         {"due", is_due}});
  }
  return {{"ticks", ticks}, {"capacity", array.capacity()}, {"members", list}};
}

ArrayRecord read_array_record(const Json& json) {
  try {
    ArrayRecord record{.ticks = json.at("ticks"),
                       .capacity = json.at("capacity")};
    for (const Json& member : json.at("members")) {
      record.members.push_back(
          {.name = member.at("name"),
           .state = parse_member_state(member.at("state").get<std::string>()),
           .failure = member.at("failure"),
           .record = read_record(member.at("record")),
           .lane = member.at("place"),
           .is_due = member.at("due")});
    }
    return record;
  } catch (const Json::exception& error) {
    fail_world("[resume] the record of the array cannot be read: {}",
               error.what());
  }
}

}  // namespace braid::train
