// Images changed at random whenever they are read, and normalised.
#pragma once

#include <vector>

#include "braid/data/dataset.h"
#include "braid/data/options.h"

namespace braid::data {

// All but `mean` and `std` draw for each sample anew in every epoch. By default
// all leave the images as they are.
const std::vector<Option>& augment_options();

// Names of those that draw: what is evaluated goes without them.
std::vector<std::string> random_changes();

// The dataset with its field `x`, f32 [C, H, W], changed: cropped, flipped,
// rotated, coloured, normalised, cut out of, and mixed, in this order. What a
// sample becomes depends on its number, the seed and the epoch of the draw, and
// on nothing else. Throws std::invalid_argument when the options do not fit the
// images. Without anything to do it returns `images` itself.
DatasetPtr augment(DatasetPtr images, const Texts& texts);

}  // namespace braid::data
