// Types and slots in the text of a graph. For the reader of graphs alone.
#pragma once

#include "braid/graph/graph.h"
#include "braid/graph/text_tokens.h"

namespace braid {

// f32[4, 3]; throws as the tokens do when there is none.
ValueType read_type(TokenReader& in);

// What follows the word "slot", to the end of the line.
Slot read_slot_text(TokenReader& in);

}  // namespace braid
