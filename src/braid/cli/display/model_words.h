// What there is, in words for --help: models, schedules and initialisers, one
// per line with their values, and the names of optimizers.
#pragma once

#include <string>

namespace braid::cli {

std::string models_in_words();
std::string optimizers_in_words();
std::string schedules_in_words();
std::string initialisers_in_words();

}  // namespace braid::cli
