#include "braid/io/run/trace.h"

#include <signal.h>
#include <sys/wait.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::microseconds;

Json events_of(const fs::path& path, const std::string& kind) {
  Json found = Json::array();
  for (const Json& event : Json::parse(read_text(path))) {
    if (event["ph"] == kind) found.push_back(event);
  }
  return found;
}

// The names of the tracks by their numbers.
std::map<int, std::string> tracks_of(const fs::path& path) {
  std::map<int, std::string> tracks;
  for (const Json& event : events_of(path, "M")) {
    if (event["name"] == "thread_name") {
      tracks[event["tid"]] = event["args"]["name"];
    }
  }
  return tracks;
}

TEST(Trace, has_events_with_times_and_tracks) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  Trace trace(path);
  auto begin = Trace::Clock::now();
  auto later = begin + microseconds(1500);
  trace.add("compute", "step", "step 7", begin, begin + microseconds(250));
  trace.add("load", "data", "batch \"8\"\n", later, later + microseconds(3));
  trace.add("compute", "step", "step 8", later, later);
  trace.add_counter("memory", later, 4096);
  trace.finish();
  Json events = events_of(path, "X");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(tracks_of(path),
            (std::map<int, std::string>{{1, "compute"}, {2, "load"}}));
  EXPECT_EQ(events[0]["tid"], events[2]["tid"]);
  EXPECT_EQ(events[0]["name"], "step 7");
  EXPECT_EQ(events[0]["cat"], "step");
  EXPECT_EQ(events[1]["name"], "batch \"8\"\n");
  EXPECT_NEAR(events[0]["dur"].get<double>(), 250, 1e-6);
  EXPECT_GE(events[0]["ts"].get<double>(), 0);
  EXPECT_NEAR(events[1]["ts"].get<double>() - events[0]["ts"].get<double>(),
              1500, 1e-6);
  EXPECT_EQ(events_of(path, "C")[0]["args"]["value"], 4096);
}

TEST(Trace, is_valid_when_empty_and_after_finish) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  write_text(path, "an older one");
  {
    Trace trace(path);
    trace.finish();
    trace.finish();
    trace.add("compute", "step", "late", {}, {});
    trace.add_counter("memory", {}, 1);
  }
  EXPECT_EQ(Json::parse(read_text(path)), Json::array());
}

TEST(Trace, destruction_closes_it) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  {
    Trace trace(path);
    TraceSpan span(&trace, "eval", "eval", "validation");
    TraceSpan nothing(nullptr, "eval", "eval", "validation");
  }
  EXPECT_EQ(events_of(path, "X").size(), 1u);
}

// As Perfetto does, who reads it takes the bracket as given.
TEST(Trace, killed_process_leaves_whole_events) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  pid_t child = ::fork();
  if (child == 0) {
    Trace trace(path);
    for (int i = 0; i < 5; ++i) trace.add("compute", "step", "s", {}, {});
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Json events = Json::parse(read_text(path) + "]");
  EXPECT_EQ(events.size(), 5u + 2);
}

TEST(Trace, takes_events_of_many_threads) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  Trace trace(path);
  {
    std::vector<std::jthread> threads;
    for (const char* track : {"compute", "load", "checkpoint", "eval"}) {
      threads.emplace_back([&trace, track] {
        for (int i = 0; i < 100; ++i) TraceSpan span(&trace, track, "c", track);
      });
    }
  }
  trace.finish();
  auto tracks = tracks_of(path);
  EXPECT_EQ(tracks.size(), 4u);
  Json events = events_of(path, "X");
  EXPECT_EQ(events.size(), 400u);
  for (const Json& event : events) {
    EXPECT_EQ(event["name"], Json(tracks.at(event["tid"])));
  }
}

TEST(Trace, bad_names_and_places_are_refused) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  EXPECT_THROW(Trace(scratch.path() / "no" / "t"), std::runtime_error);
  {
    Trace trace(path);
    EXPECT_THROW(trace.add("a", "b", "\xff", {}, {}), std::invalid_argument);
    EXPECT_THROW(trace.add("\xff", "b", "c", {}, {}), std::invalid_argument);
    trace.add_counter("x", {}, NAN);
  }
  EXPECT_EQ(Json::parse(read_text(path)), Json::array());
}

TEST(Trace, full_disk_leaves_whole_events) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "trace.json";
  Trace trace(path);
  trace.add("a", "b", "c", {}, {});
  {
    SmallDisk disk(fs::file_size(path) + 20);
    EXPECT_THROW(trace.add("a", "b", "d", {}, {}), std::runtime_error);
    TraceSpan span(&trace, "a", "b", "lost without an error");
  }
  trace.finish();
  EXPECT_EQ(events_of(path, "X").size(), 1u);
}

}  // namespace
}  // namespace braid::io
