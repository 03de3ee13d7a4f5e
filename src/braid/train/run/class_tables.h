// Tables of an evaluation over classes, as CSV for files and as Markdown for
// TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "braid/train/run/class_counts.h"

namespace braid::train {

// What the data call the classes; empty: they have numbers alone.
using ClassNames = std::vector<std::string>;

// A row for each class: step,class,targets,taken,right,precision,recall,f1;
// with names a column `name` after `class`.
std::string classes_csv(const ClassCounts& counts, int64_t step,
                        const ClassNames& names = {});
std::string classes_markdown(const ClassCounts& counts,
                             const ClassNames& names = {});

// A row for each class of targets, a column for each class that was taken for
// it; one more, `none`, where there were targets without a decision. Classes go
// by their names where they have some.
std::string confusion_csv(const ClassCounts& counts,
                          const ClassNames& names = {});
std::string confusion_markdown(const ClassCounts& counts,
                               const ClassNames& names = {});

// Larger ones are too much for a page of TensorBoard.
inline constexpr int64_t kMostShownClasses = 100;

}  // namespace braid::train
