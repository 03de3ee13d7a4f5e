#include "braid/graph/text_slots.h"

#include <optional>

#include "braid/graph/init.h"
#include "braid/graph/slot_use.h"
#include "braid/graph/verify.h"

namespace braid {
namespace {

constexpr size_t kMaxRank = 16;

constexpr Role kRoles[] = {Role::kParameter, Role::kBuffer,   Role::kConstant,
                           Role::kOptimizer, Role::kGradient, Role::kCounter,
                           Role::kHyper};

Role read_role(TokenReader& in) {
  for (Role role : kRoles) {
    if (in.take_word(role_name(role))) return role;
  }
  in.fail("unknown role {} of a slot", shown(in.word()));
}

const InitKind& read_init_kind(TokenReader& in) {
  for (const InitKind& kind : init_kinds()) {
    if (in.take_word(kind.name)) return kind;
  }
  in.fail("unknown initialisation {}", shown(in.word()));
}

// constant(a), uniform(low, high), trunc_normal(mean, std, a, b)
Init read_init(TokenReader& in) {
  const InitKind& kind = read_init_kind(in);
  Init init{kind.kind};
  in.expect('(');
  for (size_t i = 0; i < kind.values.size(); ++i) {
    if (i > 0) in.expect(',');
    init.*kind.values[i].place = in.number();
  }
  in.expect(')');
  return init;
}

// An Init that fits the shape.
Init read_fitting_init(TokenReader& in, const Shape& shape) {
  Init init = read_init(in);
  std::string problem = init_problem(init, shape);
  if (!problem.empty()) in.fail("{}", problem);
  return init;
}

// inits(constant(0.1), constant(0.3)): one per member
std::vector<Init> read_inits(TokenReader& in, const Shape& shape) {
  std::vector<Init> inits;
  in.expect('(');
  do {
    inits.push_back(read_fitting_init(in, shape));
  } while (in.take(','));
  in.expect(')');
  return inits;
}

int hex_digit(TokenReader& in, char c) {
  size_t digit = std::string_view("0123456789abcdef").find(c);
  if (digit == std::string_view::npos) {
    in.fail("expected bytes such as \"00ff\" as content");
  }
  return static_cast<int>(digit);
}

// content="00ff": the bytes of a constant
Content read_content(TokenReader& in) {
  if (in.take('?')) {
    in.fail(
        "the content of this constant is too large for a text\n"
        "HINT: train the file that the graph was made from");
  }
  std::string text = in.quoted();
  if (text.size() % 2 != 0) text += '?';
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(hex_digit(in, text[i]) * 16 +
                                           hex_digit(in, text[i + 1])));
  }
  return {std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// use=step; else the name tells it.
std::optional<SlotUse> read_use(TokenReader& in) {
  if (!in.take_word("use")) return std::nullopt;
  in.expect('=');
  std::string_view name = in.word();
  std::optional<SlotUse> use = find_use(name);
  if (!use) in.fail("unknown use {} of a slot", shown(name));
  return use;
}

void read_options(TokenReader& in, Slot& slot) {
  if (in.take_word("members")) {
    in.expect('=');
    slot.members = in.integer();
  }
  if (in.take_word("owners")) {
    in.expect('=');
    slot.owners = in.integers();
  }
  if (in.take_word("inits")) slot.inits = read_inits(in, slot.shape);
  while (in.take_word("alias")) {
    in.expect('=');
    slot.aliases.push_back(in.quoted());
  }
  if (in.take_word("content")) {
    in.expect('=');
    slot.content = read_content(in);
  }
  slot.trainable = !in.take_word("frozen");
  in.expect_done();
}

}  // namespace

ValueType read_type(TokenReader& in) {
  std::string_view name = in.word();
  std::optional<DType> dtype = find_dtype(name);
  if (!dtype)
    in.fail("expected a type such as f32[4, 3], found {}", shown(name));
  ValueType type{*dtype, in.integers()};
  if (type.shape.size() > kMaxRank) {
    in.fail("rank {} is more than {}", type.shape.size(), kMaxRank);
  }
  if (!type_fits(type)) {
    in.fail("impossible shape {}", shape_text(type.shape));
  }
  return type;
}

Slot read_slot_text(TokenReader& in) {
  Slot slot;
  slot.name = in.quoted();
  ValueType type = read_type(in);
  slot.dtype = type.dtype;
  slot.shape = std::move(type.shape);
  slot.role = read_role(in);
  slot.init = read_fitting_init(in, slot.shape);
  std::optional<SlotUse> use = read_use(in);
  read_options(in, slot);
  if (slot.members < 0 || !type_fits({slot.dtype, slot.stored_shape()})) {
    in.fail("impossible number of members {}", slot.members);
  }
  for (const std::string& problem :
       {owners_problem(slot), content_problem(slot)}) {
    if (!problem.empty()) in.fail("{}", problem);
  }
  slot.use = use ? *use : use_of_name(slot.own_name(), slot.role);
  return slot;
}

}  // namespace braid
