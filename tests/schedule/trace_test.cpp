#include "braid/schedule/trace.h"

#include <gtest/gtest.h>

#include "thrown.h"

namespace braid::schedule {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Trace read(std::string_view text, const char* format = "braid") {
  return parse_trace(text, trace_format(format), "jobs.csv");
}

std::string refused(std::string_view text, const char* format = "braid") {
  return thrown_by<std::runtime_error>([&] { read(text, format); });
}

TEST(Trace, ReadsOwnTables) {
  Trace trace = read(
      "job,submit,duration,devices,deadline\n"
      "a,100,5,1,\nb,90.5,2.5,8,120\nidle,1,3,0,\nopen,2,,1,\n");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].name, "a");
  EXPECT_EQ(trace.jobs[0].arrival_ns, 9'500'000'000);
  EXPECT_EQ(trace.jobs[0].work_ns(), 5 * kSecond);
  EXPECT_EQ(trace.jobs[0].deadline_ns, kNever);
  EXPECT_EQ(trace.jobs[1].num_devices, 8);
  EXPECT_EQ(trace.jobs[1].deadline_ns, 29'500'000'000);
  EXPECT_EQ(trace.num_without_devices, 1);
  EXPECT_EQ(trace.num_unfinished, 1);
}

TEST(Trace, ReadsHelios) {
  Trace trace = read(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
      "end_time,duration,queue\n"
      "7,uA,v,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,"
      "2020-06-10 04:55:09,36848,0\n"
      "8,uB,v,4,16,1,FAILED,2020-06-10 18:41:01,,,249,0\n"
      "9,uB,v,0,16,1,FAILED,2020-06-10 18:41:01,,,249,0\n",
      "helios");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].user, "uA");
  EXPECT_EQ(trace.jobs[0].work_ns(), 36848 * kSecond);
  EXPECT_EQ(trace.jobs[1].arrival_ns, 86400 * kSecond);
  EXPECT_EQ(trace.jobs[1].num_devices, 4);
}

TEST(Trace, ReadsPaiWithAndWithoutAHeader) {
  std::string rows =
      "j1,worker,4,Terminated,1000.0,1600.0,600.0,29.2,50.0,T4\n"
      "j2,tensorflow,1,Terminated,1200.0,1300.0,600.0,29.2,25.0,MISC\n"
      "j3,ps,2,Running,1200.0,,600.0,29.2,100.0,\n";
  std::string header =
      "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,"
      "plan_mem,plan_gpu,gpu_type\n";
  for (const std::string& text : {rows, header + rows}) {
    Trace trace = read(text, "pai");
    ASSERT_EQ(trace.jobs.size(), 2u);
    EXPECT_EQ(trace.jobs[0].num_devices, 2);  // four halves
    EXPECT_EQ(trace.jobs[0].work_ns(), 600 * kSecond);
    EXPECT_EQ(trace.jobs[1].num_devices, 1);
    EXPECT_EQ(trace.jobs[1].arrival_ns, 200 * kSecond);
    EXPECT_EQ(trace.num_unfinished, 1);
  }
}

TEST(Trace, ReadsPhilly) {
  Trace trace = parse_philly(
      R"([{"status":"Pass","vc":"v","jobid":"a","user":"u",
  "submitted_time":"2017-10-09 07:00:00","attempts":[
   {"start_time":"2017-10-09 07:01:00","end_time":"2017-10-09 07:02:00",
    "detail":[{"ip":"m1","gpus":["gpu0"]}]},
   {"start_time":"2017-10-09 08:00:00","end_time":"2017-10-09 08:05:00",
    "detail":[{"ip":"m1","gpus":["gpu0","gpu1"]},{"ip":"m2","gpus":["gpu7"]}]}]},
 {"status":"Killed","jobid":"b","user":"u",
  "submitted_time":"2017-10-09 07:00:30","attempts":[]},
 {"status":"Killed","jobid":"c","user":"u","submitted_time":"None",
  "attempts":[{"start_time":"None","end_time":null,"detail":[]}]}])",
      "log");
  ASSERT_EQ(trace.jobs.size(), 1u);
  EXPECT_EQ(trace.jobs[0].work_ns(), 360 * kSecond);
  EXPECT_EQ(trace.jobs[0].num_devices, 3);
  EXPECT_EQ(trace.num_unfinished, 2);
  for (const char* text : {"", "{}", "[1]", "[", "[]"}) {
    EXPECT_NE(thrown_by<std::runtime_error>([&] {
                parse_philly(text, "log");
              }).find("log"),
              std::string::npos);
  }
}

TEST(Trace, AFormatOfOnesOwn) {
  TraceFormat format = parse_trace_format(
      "job: id\nstart: from\nend: to\ndevices: cards\nseparator: ';'\n",
      "own.yaml");
  Trace trace = parse_trace(
      "cards;id;from;to\n2;x;2020-01-01T00:00:00;2020-01-02 00:00:01\n", format,
      "jobs.csv");
  EXPECT_EQ(trace.jobs[0].work_ns(), 86401 * kSecond);
  EXPECT_EQ(trace.jobs[0].num_devices, 2);
  auto refused = [](const char* text) {
    return thrown_by<std::invalid_argument>(
        [&] { parse_trace_format(text, "own.yaml"); });
  };
  EXPECT_NE(refused("job: id\n").find("`duration`"), std::string::npos);
  EXPECT_NE(refused("jobb: id\n").find("line 1"), std::string::npos);
}

TEST(Trace, RefusesBrokenLinesByTheirNumbers) {
  auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refused("submit,duration\n1,2\nsoon,3\n"), "line 3");
  has(refused("submit,duration\n1,2\n3\n"), "line 3");
  has(refused("submit,duration\n1,-2\n"), "line 2");
  has(refused("submit,duration,devices\n1,2,1e9\n"), "line 2");
  has(refused("submit,duration\n1,inf\n"), "line 2");
  has(refused("submit,duration\n2020-13-01 00:00:00,4\n"), "line 2");
  has(refused("submit,time\n1,2\n"), "'duration'");
  has(refused("submit,duration\n"), "no job in it");
  has(refused(""), "no job in it");
  has(thrown_by<std::invalid_argument>([] { trace_format("helio"); }),
      "did you mean 'helios'");
}

}  // namespace
}  // namespace braid::schedule
