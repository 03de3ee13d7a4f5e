#include "braid/plan/durations.h"

#include <memory>
#include <unordered_map>

#include "braid/base/rng.h"
#include "braid/plan/call_signature.h"
#include "braid/plan/update_ahead.h"

namespace braid::plan {
namespace {

double copy_seconds(const Rates& rates, const Program& program,
                    const Instruction& i) {
  double rate = 0;
  switch (i.opcode) {
    case Opcode::kDiskRead: rate = rates.disk_read_bytes_per_s; break;
    case Opcode::kDiskWrite: rate = rates.disk_write_bytes_per_s; break;
    default:
      rate = i.stream == Stream::kHostToDevice ? rates.to_device_bytes_per_s
                                               : rates.to_host_bytes_per_s;
  }
  auto bytes = static_cast<double>(program.allocation(i.source).bytes);
  return rates.copy_s + bytes / rate;
}

double start_seconds(const Rates& rates, const Instruction& i) {
  return i.stream == Stream::kHostUpdate ? rates.copy_s : rates.call_s;
}

const Node& node_of(const Program& program, const Instruction& i) {
  return program.graph.node(program.calls[static_cast<size_t>(i.call)].node);
}

// Looks a call up by its key. Texts take long to make, so that numbers which
// stand for calls are remembered.
class CallSeconds {
 public:
  CallSeconds(const OpTable& ops, const DeviceInfo& device, int threads,
              Profile profile)
      : ops_(ops),
        rates_(device.rates),
        kind_(device.id.kind),
        threads_(threads),
        profile_(std::move(profile)) {}

  double operator()(const Program& program, const Instruction& i) {
    if (i.moves_bytes()) return copy_seconds(rates_, program, i);
    double start = start_seconds(rates_, i);
    const Node& node = node_of(program, i);
    if (is_rare(node)) return start;
    bool on_host = i.stream == Stream::kHostUpdate;
    DeviceKind kind = on_host ? DeviceKind::kCpu : kind_;
    auto [known, is_new] =
        known_.try_emplace(number_of(program.graph, node, kind), 0.0);
    if (is_new) known->second = seconds(program.graph, node, kind);
    return start + known->second;
  }

 private:
  double seconds(const Graph& graph, const Node& node, DeviceKind kind) const {
    auto measured =
        profile_.find(Measured::kCall, call_key(kind, threads_, graph, node));
    if (measured) return *measured;
    return mistake(node, kind) * arithmetic_s(ops_, rates_, graph, node);
  }

  double mistake(const Node& node, DeviceKind kind) const {
    for (const std::string& name : {node.op->name, std::string()}) {
      auto known = profile_.find(Measured::kOperator,
                                 operator_key(kind, threads_, name));
      if (known) return *known;
    }
    return 1;
  }

  static uint64_t mixed(uint64_t hash, int64_t number) {
    return mix_bits(hash, static_cast<uint64_t>(number));
  }

  static uint64_t number_of(const Attr& attr) {
    struct Visit {
      uint64_t operator()(bool v) const { return v; }
      uint64_t operator()(int64_t v) const { return static_cast<uint64_t>(v); }
      uint64_t operator()(double v) const { return std::bit_cast<uint64_t>(v); }
      uint64_t operator()(const std::string& v) const { return stable_hash(v); }
      uint64_t operator()(const Ints& v) const {
        uint64_t hash = v.size();
        for (int64_t n : v) hash = mixed(hash, n);
        return hash;
      }
    };
    return std::visit(Visit(), attr);
  }

  static uint64_t number_of(const Graph& graph, const Node& node,
                            DeviceKind kind) {
    uint64_t hash =
        mix_bits(stable_hash(node.op->name), static_cast<uint64_t>(kind));
    for (const std::vector<ValueId>& ids : {node.inputs, node.outputs}) {
      hash = mixed(hash, -1);
      for (ValueId id : ids) {
        if (id == kNone) {
          hash = mixed(hash, -2);
          continue;
        }
        const Value& value = graph.value(id);
        hash = mixed(hash, static_cast<int64_t>(value.type.dtype));
        for (int64_t size : value.type.shape) hash = mixed(hash, size);
        hash = mixed(hash, -3);
        for (int64_t stride : value.strides) hash = mixed(hash, stride);
      }
    }
    for (const auto& [name, value] : node.attrs.items()) {
      hash = mix_bits(mix_bits(hash, stable_hash(name)), number_of(value));
    }
    return hash;
  }

  const OpTable& ops_;
  Rates rates_;
  DeviceKind kind_;
  int threads_;
  Profile profile_;
  std::unordered_map<uint64_t, double> known_;
};

}  // namespace

double arithmetic_s(const OpTable& ops, const Rates& rates, const Graph& graph,
                    const Node& node) {
  Cost cost = ops.cost(graph, node);
  return std::max(cost.flops / rates.flops_per_s,
                  cost.bytes / rates.bytes_per_s);
}

Durations durations_at(const OpTable& ops, const Rates& rates) {
  return [&ops, rates](const Program& program, const Instruction& i) {
    if (i.moves_bytes()) return copy_seconds(rates, program, i);
    const Node& node = node_of(program, i);
    double start = start_seconds(rates, i);
    if (is_rare(node)) return start;
    return start + arithmetic_s(ops, rates, program.graph, node);
  };
}

Durations durations_by(const OpTable& ops, const DeviceInfo& device,
                       int threads, Profile profile) {
  const DeviceInfo* measured = profile.device(device.id.kind);
  DeviceInfo info = measured ? with_rates(device, measured->rates) : device;
  bool knows_calls = profile.size(Measured::kCall) > 0 ||
                     profile.size(Measured::kOperator) > 0;
  if (!knows_calls) return durations_at(ops, info.rates);
  auto seconds =
      std::make_shared<CallSeconds>(ops, info, threads, std::move(profile));
  return [seconds](const Program& program, const Instruction& i) {
    return (*seconds)(program, i);
  };
}

std::string call_key(DeviceKind device, int threads, const Graph& graph,
                     const Node& node) {
  return kind_name(device) + " " + call_signature(graph, node, threads);
}

std::string operator_key(DeviceKind device, int threads,
                         const std::string& name) {
  return fmt::format("{} t{} {}", kind_name(device), threads, name);
}

Sharing sharing_of(const DeviceInfo& device) {
  return {.cores = device.shares_cores,
          .bus = device.rates.one_bus,
          .to_copies = device.rates.compute_lost_to_copies};
}

}  // namespace braid::plan
