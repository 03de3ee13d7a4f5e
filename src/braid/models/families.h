// The rows of the table, by the file they lie in, and how those files read
// sizes. To add a family: its file, a line here and one in models.cpp.
#pragma once

#include "braid/models/models.h"

namespace braid::models {

std::vector<Model> mlp_models();
std::vector<Model> lenet_models();
std::vector<Model> resnet_models();
std::vector<Model> mobilenet_models();
std::vector<Model> vit_models();
std::vector<Model> pointnet_models();
std::vector<Model> dcgan_models();
std::vector<Model> transformer_lm_models();
std::vector<Model> bert_models();
std::vector<Model> gpt2_models();
std::vector<Model> lstm_lm_models();
std::vector<Model> example_models();  // for tests and first steps

// Sizes as numbers: whole ones by size("width").
class SizeReader {
 public:
  explicit SizeReader(const Sizes& sizes) : sizes_(sizes) {}
  int64_t operator()(const char* name) const {
    return static_cast<int64_t>(sizes_.at(name));
  }
  double number(const char* name) const { return sizes_.at(name); }
  bool flag(const char* name) const { return sizes_.at(name) != 0; }

 private:
  const Sizes& sizes_;
};

// Sizes that many models have.
Size batch_size(double value);
Size dropout_size(double value, std::string meaning = "share dropped");
// Units between the two layers of a feed-forward part; 0 is 4 * width.
Size feed_size();
int64_t feed_of(const SizeReader& size);

}  // namespace braid::models
