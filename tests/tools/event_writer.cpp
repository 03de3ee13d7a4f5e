// Writes event files as it is told, for tests that read them with TensorBoard.
//
//   event_writer DIR < commands     start STEP | add STEP TAG=VALUE... | cut
//   STEP
#include <iostream>
#include <memory>
#include <sstream>

#include "braid/io/run/event_file.h"

namespace {

braid::io::Scalars read_scalars(std::istream& words) {
  braid::io::Scalars values;
  for (std::string word; words >> word;) {
    size_t equals = word.find('=');
    values.emplace_back(word.substr(0, equals),
                        std::stod(word.substr(equals + 1)));
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::unique_ptr<braid::io::EventFile> file;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    int64_t step = 0;
    words >> command >> step;
    if (command == "start") {
      file = std::make_unique<braid::io::EventFile>(argv[1], step);
    } else if (command == "add") {
      file->add(step, read_scalars(words));
    } else if (command == "cut") {
      file.reset();
      braid::io::EventFile::cut_back(argv[1], step);
    } else {
      return 2;
    }
  }
  return 0;
}
