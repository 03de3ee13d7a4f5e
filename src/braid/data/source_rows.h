// The rows of the table, by the file they lie in. To add a source: its file,
// a line here and one in sources.cpp.
#pragma once

#include "braid/data/sources.h"

namespace braid::data {

Source idx_source();
Source cifar10_source();
Source cifar100_source();
Source npy_source();
Source safetensors_source();
Source shards_source();
Source csv_source();
Source images_source();
Source clouds_source();
Source text_source();
Source tokens_source();
Source glyphs_source();
Source solids_source();
Source arithmetic_source();
Source library_source();
Source command_source();

}  // namespace braid::data
