#include "braid/runtime/comm/launch.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "braid/base/error.h"

namespace braid::runtime {
namespace {

// The variables of a launcher that say who is who.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};

// Those that are surer come first: srun may start mpirun, and either torchrun.
constexpr Names kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

std::optional<int> number_of(const char* name, const Variables& variables) {
  const char* value = variables(name);
  if (!value) return std::nullopt;
  std::string_view text = value;
  int number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (is_whole && number >= 0) return number;
  fail_usage("[launch] {}={} is no number", name, text);
}

// Of an agent that outlives the processes which it starts.
std::optional<Endpoint> agent_store(const Variables& variables) {
  const char* uses = variables("TORCHELASTIC_USE_AGENT_STORE");
  if (!uses || std::string_view(uses) != "True") return std::nullopt;
  const char* host = variables("MASTER_ADDR");
  auto port = number_of("MASTER_PORT", variables);
  if (host && port) return Endpoint{host, *port};
  fail_usage(
      "[launch] {} is missing: torchrun keeps a store, and does not say where",
      host ? "MASTER_PORT" : "MASTER_ADDR");
}

}  // namespace

Launch read_launch(const Variables& variables) {
  for (const Names& names : kLaunchers) {
    auto rank = number_of(names.rank, variables);
    auto size = number_of(names.size, variables);
    if (!rank && !size) continue;
    if (!rank || !size) {
      fail_usage("[launch] {} is set and {} is not",
                 rank ? names.rank : names.size,
                 rank ? names.size : names.rank);
    }
    if (*rank >= *size) {
      fail_usage("[launch] {}={} is not below {}={}", names.rank, *rank,
                 names.size, *size);
    }
    return {.launcher = names.launcher,
            .rank = *rank,
            .size = *size,
            .local_rank = number_of(names.local_rank, variables).value_or(0),
            .store = agent_store(variables)};
  }
  return {};
}

Launch read_launch() {
  return read_launch([](const char* name) { return std::getenv(name); });
}

}  // namespace braid::runtime
