// Tables of an evaluation over classes, as CSV for files and as Markdown for
// TensorBoard.
#pragma once

#include <cstdint>
#include <string>

#include "braid/train/run/class_counts.h"

namespace braid::train {

// A row for each class: step,class,targets,taken,right,precision,recall,f1
std::string classes_csv(const ClassCounts& counts, int64_t step);
std::string classes_markdown(const ClassCounts& counts);

// A row for each class of targets, a column for each class that was taken for
// it; one more, `none`, where there were targets without a decision.
std::string confusion_csv(const ClassCounts& counts);
std::string confusion_markdown(const ClassCounts& counts);

// Larger ones are too much for a page of TensorBoard.
inline constexpr int64_t kMostShownClasses = 100;

}  // namespace braid::train
