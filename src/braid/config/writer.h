// Writing a struct as a tree, by its description.
#pragma once

#include "braid/config/section.h"

namespace braid::config {

class Writer : public Section {
 public:
  Node take() { return std::move(map_); }

  void rest(Options& options, Name what, Meaning meaning) override;

 protected:
  void value(const Field& field) override;
  void group(const Group& group) override;
  void groups(const Items& items) override;

 private:
  void add(std::string_view name, Node node);

  Node map_ = make_map();
};

// All keys, also those with defaults; it reads back to an equal struct.
template <class T>
Node write_config(const T& config) {
  T copy = config;
  Writer writer;
  describe(writer, copy);
  return writer.take();
}

// Only what `node` says otherwise than `defaults`.
Node without_defaults(Node node, const Node& defaults);

}  // namespace braid::config
