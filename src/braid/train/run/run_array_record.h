// What a checkpoint of an array says besides the content of its members: who
// is where, and how far.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "braid/train/run/member_run.h"

namespace braid::train {

struct ArrayRecord {
  struct Member {
    std::string name;
    MemberState state = MemberState::kWaiting;
    std::string failure = {};
    RunRecord record = {};
    int64_t lane = -1;    // in the array; -1: it has none
    bool is_due = false;  // its own folder gets this checkpoint
  };
  int64_t ticks = 0;  // steps of the array
  int64_t capacity = 0;
  std::vector<Member> members = {};
};

nlohmann::json array_record_json(
    const std::vector<std::unique_ptr<MemberRun>>& members, const Array& array,
    int64_t ticks, const std::vector<MemberRun*>& due);

// Throws std::runtime_error when something is missing or of another kind.
ArrayRecord read_array_record(const nlohmann::json& json);

}  // namespace braid::train
