// `braid bench links`: how fast this machine's devices compute and how fast
// bytes move, as plans go by it.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/cli/display/table.h"
#include "braid/cli/output.h"
#include "braid/cli/profile_file.h"
#include "braid/cli/verbs/options.h"
#include "braid/runtime/machine.h"
#include "braid/runtime/measure_rates.h"

namespace braid::cli {
namespace {

struct LinksOptions {
  std::string device = "cpu";
  std::string memory_limit;
  std::string spill_dir;
  std::string profile;
  int64_t threads = 0;
  bool json = false;
};

using Json = nlohmann::ordered_json;

std::string rate_text(double bytes_per_s) {
  return fmt::format("{:.2f} GB/s", 1e-9 * bytes_per_s);
}

void print_rates(const std::string& device, const plan::Rates& r,
                 bool has_file) {
  Column what{.title = device}, rate{.title = "", .is_number = true};
  auto row = [&](std::string name, std::string text) {
    what.cells.push_back(std::move(name));
    rate.cells.push_back(std::move(text));
  };
  row("host to device", rate_text(r.to_device_bytes_per_s));
  row("device to host", rate_text(r.to_host_bytes_per_s));
  row("both at once", r.one_bus ? "take turns" : "side by side");
  row("to start a copy", fmt::format("{:.1f} us", 1e6 * r.copy_s));
  row("computing lost beside copies",
      fmt::format("{:.0f} %", 100 * r.compute_lost_to_copies));
  if (has_file) {
    row("from files", rate_text(r.disk_read_bytes_per_s));
    row("to files", rate_text(r.disk_write_bytes_per_s));
  }
  row("memory, by kernels", rate_text(r.bytes_per_s));
  row("products, f32", fmt::format("{:.1f} GFLOP/s", 1e-9 * r.flops_per_s));
  for (const std::string& line : table_lines({what, rate}, 80)) {
    print("{}\n", line);
  }
}

Json rates_json(const std::string& device, const plan::Rates& r) {
  return {{"device", device},
          {"to_device_bytes_per_s", r.to_device_bytes_per_s},
          {"to_host_bytes_per_s", r.to_host_bytes_per_s},
          {"one_bus", r.one_bus},
          {"copy_s", r.copy_s},
          {"compute_lost_to_copies", r.compute_lost_to_copies},
          {"disk_read_bytes_per_s", r.disk_read_bytes_per_s},
          {"disk_write_bytes_per_s", r.disk_write_bytes_per_s},
          {"bytes_per_s", r.bytes_per_s},
          {"flops_per_s", r.flops_per_s}};
}

int run_links(const LinksOptions& o) {
  runtime::Budget budget{.cores = static_cast<int>(o.threads)};
  auto limit =
      read_limit("--memory-limit", o.memory_limit, "braid bench links");
  if (limit) budget.bytes = *limit;
  plan::Profile profile = read_profile(o.profile);
  auto machine = runtime::this_machine();
  auto backend = machine->open(parse_device(o.device), budget);
  plan::Rates rates =
      runtime::measure_rates(machine->ops(), *backend,
                             {.threads = std::max(1, backend->info().cores),
                              .spill_dir = o.spill_dir});
  if (!o.profile.empty()) {
    profile.set_device(plan::with_rates(backend->info(), rates));
    write_profile(o.profile, profile);
  }
  if (o.json) {
    print("{}\n", rates_json(backend->name(), rates).dump(1));
  } else {
    print_rates(backend->name(), rates, !o.spill_dir.empty());
  }
  return kOk;
}

}  // namespace

Action add_bench(CLI::App& app) {
  auto o = std::make_shared<LinksOptions>();
  CLI::App* links = app.add_subcommand(
      "links", "Speeds between device, host and files, alone and together");
  AddOption add(*links);
  add("--device", o->device, "NAME", "cpu, cpu:1, cuda (cpu)");
  add.whole("--threads", o->threads, "N", "Of a CPU (all cores)");
  add("--memory-limit", o->memory_limit, "BYTES", "Of the device: 512MiB");
  add("--spill-dir", o->spill_dir, "DIR", "Also measure files in this folder");
  add("--profile", o->profile, "FILE", "Also write them where plans read them");
  links->add_flag("--json", o->json, "Print JSON");
  app.require_subcommand(1);
  return [o] { return run_links(*o); };
}

}  // namespace braid::cli
