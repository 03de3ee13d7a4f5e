// DatasetCache: datasets that several jobs share, so that each is opened once
// and jobs with the same data can be seen to have them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "braid/data/dataset.h"

namespace braid::train {

// For one thread at a time. Datasets stay open as long as it lives.
class DatasetCache {
 public:
  // What was opened under this text before, or what `open` gives.
  data::DatasetPtr get(const std::string& text,
                       const std::function<data::DatasetPtr()>& open) {
    data::DatasetPtr& known = opened_[text];
    if (!known) known = open();
    return known;
  }

  // Whether this text is asked about for the first time.
  bool is_new(const std::string& text) { return asked_.insert(text).second; }

 private:
  std::map<std::string, data::DatasetPtr> opened_;
  std::set<std::string> asked_;
};

}  // namespace braid::train
