#include "client/accelctl/selftest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "backends/core/status.h"
#include "backends/cpu/cpu_device.h"
#include "backends/forwarding/forwarding_backend.h"
#include "backends/local/local_backend.h"
#include "client/accelctl/selftest_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::accelctl {
namespace {

using ::testing::HasSubstr;

class SelftestTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(cpu_.Init(), IsOk()); }

  LocalBackend cpu_{MakeCpuDevice({.threads = 1})};
};

SelftestCase CaseOf(std::string_view op) {
  for (SelftestCase& test : SelftestCases()) {
    if (OpName(test.op) == op) return std::move(test);
  }
  ADD_FAILURE() << "There is no case of " << op;
  return {};
}

// Answers each op with `status` instead of running it.
class AnsweringBackend : public ForwardingBackend {
 public:
  AnsweringBackend(ComputeBackend& target, absl::Status status)
      : ForwardingBackend(target), status_(std::move(status)) {}

  absl::Status Run(Op, Stream) override { return status_; }

 private:
  const absl::Status status_;
};

// Changes the last f32 of all that is read.
class DistortingBackend : public ForwardingBackend {
 public:
  DistortingBackend(ComputeBackend& target, float factor, float summand)
      : ForwardingBackend(target), factor_(factor), summand_(summand) {}

  absl::Status CopyDtoH(absl::Span<std::byte> target, Address source,
                        std::optional<Stream> stream) override {
    ACCELD_RETURN_IF_ERROR(ForwardingBackend::CopyDtoH(target, source, stream));
    float value;
    std::byte* const last = target.data() + target.size() - sizeof value;
    std::memcpy(&value, last, sizeof value);
    value = value * factor_ + summand_;
    std::memcpy(last, &value, sizeof value);
    return absl::OkStatus();
  }

 private:
  const float factor_;
  const float summand_;
};

TEST_F(SelftestTest, EveryOpHasACaseThatIsValid) {
  std::set<std::size_t> ops;
  for (const SelftestCase& test : SelftestCases()) {
    EXPECT_THAT(CheckParameters(test.op), IsOk()) << OpName(test.op) << " " << test.name;
    ops.insert(test.op.index());
  }
  EXPECT_EQ(ops.size(), kOpCount);
}

TEST_F(SelftestTest, TheCpuPasses) {
  for (const SelftestCase& test : SelftestCases()) {
    const SelftestResult result = RunCase(cpu_, test);
    EXPECT_EQ(result.outcome, Outcome::kOk)
        << result.op << " " << result.name << ": " << result.message;
    EXPECT_LE(result.max_error.value_or(1), test.tolerance);
  }
}

TEST_F(SelftestTest, EveryCaseNoticesAnOpThatDoesNothing) {
  AnsweringBackend idle(cpu_, absl::OkStatus());
  for (const SelftestCase& test : SelftestCases()) {
    EXPECT_EQ(RunCase(idle, test).outcome, Outcome::kWrong) << OpName(test.op) << " " << test.name;
  }
}

TEST_F(SelftestTest, AnErrorBeyondTheToleranceIsWrong) {
  DistortingBackend distorting(cpu_, 1.01f, 0);
  const SelftestResult result = RunCase(distorting, CaseOf("softmax"));
  EXPECT_EQ(result.outcome, Outcome::kWrong);
  EXPECT_GT(result.max_error.value_or(0), result.tolerance);
}

TEST_F(SelftestTest, AnErrorWithinTheToleranceIsOk) {
  DistortingBackend distorting(cpu_, 1, 1e-6f);
  const SelftestResult result = RunCase(distorting, CaseOf("softmax"));
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_GT(result.max_error.value_or(0), 5e-7);
}

TEST_F(SelftestTest, WhatIsNoNumberIsWrong) {
  for (const float strange :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DistortingBackend distorting(cpu_, 1, strange);
    const SelftestResult result = RunCase(distorting, CaseOf("attention"));
    EXPECT_EQ(result.outcome, Outcome::kWrong);
    EXPECT_TRUE(std::isinf(result.max_error.value_or(0)));
  }
}

TEST_F(SelftestTest, AnOpThatTheDeviceLacksIsUnsupported) {
  AnsweringBackend lacking(cpu_, UnsupportedError("This device has no gemm."));
  const SelftestResult result = RunCase(lacking, CaseOf("gemm"));
  EXPECT_EQ(result.outcome, Outcome::kUnsupported);
  EXPECT_EQ(result.max_error, std::nullopt);
  EXPECT_EQ(result.message, "This device has no gemm.");
}

TEST_F(SelftestTest, AnErrorOfTheBackendIsAFailure) {
  AnsweringBackend failing(cpu_, DeviceError("The device is on fire."));
  const SelftestResult result = RunCase(failing, CaseOf("gemm"));
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.message, "The device is on fire.");
}

TEST_F(SelftestTest, LeavesNothingAllocated) {
  const auto free_before = cpu_.devices()[0].free_memory_bytes;
  AnsweringBackend failing(cpu_, DeviceError("The device is on fire."));
  for (const SelftestCase& test : SelftestCases()) {
    RunCase(cpu_, test);
    RunCase(failing, test);
  }
  EXPECT_THAT(cpu_.Synchronize(), IsOk());
  EXPECT_EQ(cpu_.devices()[0].free_memory_bytes, free_before);
}

SelftestResult ResultOf(Outcome outcome) {
  return {.op = "gemm", .name = "f32", .tolerance = 0, .outcome = outcome};
}

TEST(Verdict, UnsupportedOpsDoNoHarm) {
  EXPECT_THAT(Verdict({ResultOf(Outcome::kOk), ResultOf(Outcome::kUnsupported)}), IsOk());
}

TEST(Verdict, WrongAndFailedOpsAreCounted) {
  const auto status =
      Verdict({ResultOf(Outcome::kOk), ResultOf(Outcome::kWrong), ResultOf(Outcome::kFailed)});
  EXPECT_THAT(std::string(status.message()), HasSubstr("Of 3 cases 1 are wrong and 1 failed."));
}

TEST(Verdict, NothingTestedDoesNotPass) {
  EXPECT_FALSE(Verdict({}).ok());
  EXPECT_FALSE(Verdict({ResultOf(Outcome::kUnsupported)}).ok());
}

SelftestReport SampleReport() {
  SelftestReport report{.device = {.name = "A processor"}, .transport = "grpc+unix", .results = {}};
  report.results.push_back({.op = "gemm",
                            .name = "f32 NN",
                            .tolerance = 1e-5,
                            .outcome = Outcome::kWrong,
                            .max_error = std::numeric_limits<double>::infinity()});
  report.results.push_back({.op = "softmax",
                            .name = "over axis 0",
                            .tolerance = 1e-6,
                            .outcome = Outcome::kUnsupported,
                            .message = "No \"softmax\"."});
  return report;
}

TEST(SelftestReport, TextHasALineForEachCaseAndTheCounts) {
  EXPECT_EQ(SelftestText(SampleReport()),
            "device cpu:0, A processor, over grpc+unix\n\n"
            "OP       CASE         MAX ERROR  TOLERANCE  RESULT\n"
            "gemm     f32 NN             inf    1.0e-05  wrong\n"
            "softmax  over axis 0          -    1.0e-06  unsupported: No \"softmax\".\n"
            "\n0 ok, 1 wrong, 0 failed, 1 unsupported\n");
}

TEST(SelftestReport, JsonIsTheObjectThatHelpDescribes) {
  EXPECT_EQ(nlohmann::json::parse(SelftestJson(SampleReport())), nlohmann::json::parse(R"({
    "ok": false,
    "device": {"kind": "cpu", "ordinal": 0, "uuid": "", "name": "A processor"},
    "transport": "grpc+unix",
    "cases": [
      {"op": "gemm", "case": "f32 NN", "outcome": "wrong", "max_error": null,
       "tolerance": 1e-5, "message": ""},
      {"op": "softmax", "case": "over axis 0", "outcome": "unsupported", "max_error": null,
       "tolerance": 1e-6, "message": "No \"softmax\"."}
    ]})"));
}

}  // namespace
}  // namespace acceld::accelctl
