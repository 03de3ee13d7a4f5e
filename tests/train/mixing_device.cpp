#include "mixing_device.h"

#include <cstring>

#include "braid/base/rng.h"
#include "braid/graph/text_tokens.h"
#include "braid/ops/core/op.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/runtime/elements.h"

namespace braid::runtime {
namespace {

// Calls visit(address) for each element, row-major.
template <class Visit>
void visit_addresses(const Tensor& t, Visit visit) {
  visit_elements(t, [&](int64_t at) { visit(t.data + at); });
}

uint64_t bits_at(const std::byte* data, DType dtype) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, static_cast<size_t>(item_bytes(dtype)));
  return bits;
}

uint64_t mixed(uint64_t hash, const Tensor& tensor) {
  visit_addresses(tensor, [&](const std::byte* data) {
    hash = mix_bits(hash, bits_at(data, tensor.dtype));
  });
  return hash;
}

bool is_one(const Tensor& tensor) {
  bool all = true;
  visit_addresses(tensor, [&](const std::byte* data) {
    all = all && *reinterpret_cast<const double*>(data) == 1;
  });
  return all;
}

// An update of all members is one without the input that says so.
bool is_left_out(const Call& call, size_t input) {
  const UpdateKind* kind = call.node->op->update_kind;
  return kind && input == kind->keep_input() && call.has(input) &&
         is_one(call.in(input));
}

uint64_t digest(const Call& call) {
  uint64_t hash =
      mix_bits(stable_hash(call.node->op->name), call.node->rng_key);
  for (const auto& [name, value] : call.attrs().items()) {
    if (name == "rare") continue;
    hash = mix_bits(hash, stable_hash(name + attr_text(value)));
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i) || is_left_out(call, i)) continue;
    hash = mixed(mix_bits(hash, i), call.in(i));
  }
  return hash;
}

void store(const Tensor& output, uint64_t hash) {
  uint64_t element = 0;
  visit_addresses(output, [&](std::byte* data) {
    uint64_t bits = mix_bits(hash, element++);
    std::memcpy(data, &bits, static_cast<size_t>(item_bytes(output.dtype)));
  });
}

// Scratch of some calls, as real kernels have.
void soil(const Call& call) {
  uint64_t hash = stable_hash(call.node->op->name);
  if (hash % 3 == 0) return;
  auto bytes = static_cast<int64_t>(hash / 3 % 700);
  call.workspace->needed_bytes = bytes;
  if (!call.workspace->data) return;
  std::memset(call.workspace->data, 0xA5, static_cast<size_t>(bytes));
}

void mix(const Call& call) {
  soil(call);
  uint64_t hash = digest(call);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    store(call.out(i), mix_bits(hash, i));
  }
  soil(call);
}

// Slot operands lie row-major without gaps.
void assign(const Call& call) {
  std::byte* to = call.out(0).data;
  int64_t item = item_bytes(call.out(0).dtype);
  visit_addresses(call.in(0), [&](const std::byte* from) {
    std::memcpy(to, from, static_cast<size_t>(item));
    to += item;
  });
}

// What a micro-batch adds to a sum, which the first one begins.
void add_share(const Call& call, const Tensor& sum) {
  uint64_t hash = mixed(stable_hash("share"), call.in(0));
  store(call.out(0), sum ? mixed(hash, sum) : hash);
}

// The first micro-batch forgets what the slot held.
void accumulate(const Call& call) {
  bool is_first = *call.in(1).as<int64_t>() == 0;
  add_share(call, is_first ? Tensor() : call.out(0));
}

void add_scaled(const Call& call) {
  add_share(call, call.has(1) ? call.in(1) : Tensor());
}

void copy(const Tensor& to, const Tensor& from) {
  std::memcpy(to.data, from.data, static_cast<size_t>(from.bytes()));
}

// Here every update ahead was wrong: what makes up for it does all the work.
void redoes(const Call& call) {
  for (int64_t i = 0; i < call.out(0).numel(); ++i) {
    call.out(0).as<double>()[i] = 1;
  }
}

// Times one changes nothing.
void multiply(const Call& call) {
  bool is_flag = call.node->phase == Phase::kUpdate &&
                 call.in(1).dtype == DType::kFloat64 && is_one(call.in(1));
  is_flag ? copy(call.out(0), call.in(0)) : mix(call);
}

void advance(const Call& call) {
  for (int64_t i = 0; i < call.out(0).numel(); ++i) {
    call.out(0).as<int64_t>()[i] = call.in(0).as<int64_t>()[i] + 1;
  }
}

}  // namespace

KernelTable mixing_kernels() {
  KernelTable table;
  auto add = [&](const std::string& op, void (*body)(const Call&)) {
    table.add(op, [body](const Call& call) -> Thunk {
      return [body, call] { body(call); };
    });
  };
  const OpTable ops = standard_ops();
  for (const auto& [name, op] : ops.all()) add(name, mix);
  add("assign", assign);
  add("accumulate", accumulate);
  add("advance", advance);
  add("add_scaled", add_scaled);
  add("set_aside", [](const Call& call) { copy(call.out(0), call.in(0)); });
  add("redoes", redoes);
  add("mul", multiply);
  add("take_back", [](const Call& call) { copy(call.out(0), call.in(1)); });
  return table;
}

}  // namespace braid::runtime
