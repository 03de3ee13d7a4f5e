#include "braid/train/queue/worker_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "braid/train/job/job_names.h"

namespace braid::train {
namespace {

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  std::string safe = safe_name(name.data());
  return safe.empty() ? "host" : safe;
}

// The run of the system and the numbering of processes that this one is in:
// elsewhere the same number is another process.
std::string place_of_processes() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  std::error_code ignored;
  std::string numbering =
      std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  return fmt::format("{:08x}", static_cast<uint32_t>(
                                   std::hash<std::string>()(boot + numbering)));
}

// When the process began, in ticks; nothing where there is none.
std::optional<std::string> start_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t end_of_name = text.rfind(')');  // a name may hold blanks
  if (end_of_name == text.npos) return std::nullopt;
  std::istringstream fields(text.substr(end_of_name + 1));
  constexpr int kStart = 20;  // fields behind the name
  std::string field, state;
  fields >> state;
  for (int i = 1; i < kStart; ++i) fields >> field;
  bool is_gone = state == "Z" || state == "X";
  return is_gone ? std::nullopt : std::optional(field);
}

}  // namespace

std::string worker_name() {
  std::string process = fmt::format("{}", ::getpid());
  return fmt::format("{}-{}-{}-{}", host_name(), process, place_of_processes(),
                     start_of(process).value_or("0"));
}

bool has_died_here(const std::string& name) {
  std::array<std::string, 3> parts;  // process, place, start; from the end
  std::string rest = name;
  for (size_t i = parts.size(); i-- > 0;) {
    size_t dash = rest.rfind('-');
    if (dash == rest.npos) return false;
    parts[i] = rest.substr(dash + 1);
    rest.resize(dash);
  }
  if (rest != host_name() || parts[1] != place_of_processes()) return false;
  return start_of(parts[0]) != parts[2];
}

}  // namespace braid::train
