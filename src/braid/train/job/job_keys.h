// Keys of job files by other names: what people type who know another program,
// an option of another verb, or only the end of a key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::train {

// The key that is meant: "lr" and "learning-rate" are "optimizer.lr",
// "batch-size" is "batch_size", "patience" is "eval.early_stop.patience". Empty
// when there is none, or more than one. A key is itself.
std::string find_job_key(std::string_view name);

// What sets that key on a command line: "optimizer.lr=1e-3". `name` may stand
// for a value too: "cuda" is "device=cuda". Without a value "VALUE" is written.
// Empty where find_job_key() is.
std::string job_word(std::string_view name, std::string_view value);

}  // namespace braid::train
