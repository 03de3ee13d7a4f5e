// The values of one schedule by name, with defaults.
#pragma once

#include <string_view>

#include "braid/base/error.h"
#include "braid/passes/step/schedule.h"

namespace braid::passes {

class ScheduleValues {
 public:
  // Borrows both.
  ScheduleValues(const ScheduleKind& kind, const Schedule& schedule)
      : kind_(kind), schedule_(schedule) {}

  double operator[](const char* name) const {
    auto given = schedule_.values.find(name);
    return given != schedule_.values.end() ? given->second.at(0)
                                           : default_of(name);
  }
  const std::vector<double>& list(const char* name) const {
    return schedule_.values.at(name);
  }

 private:
  double default_of(std::string_view name) const {
    for (const auto* values : {&kind_.values, &warmup_values()}) {
      for (const ScheduleValue& value : *values) {
        if (value.name == name && value.value) return *value.value;
      }
    }
    fail_usage("[schedule] {} has no value '{}'", kind_.name, name);
  }

  const ScheduleKind& kind_;
  const Schedule& schedule_;
};

}  // namespace braid::passes
