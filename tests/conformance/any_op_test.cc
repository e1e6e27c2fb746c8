// What holds for every op alike: its operands' bounds, lifetimes and overlaps, and its stream.
#include <cstring>
#include <string>
#include <vector>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/samples.h"

namespace acceld::conformance {
namespace {

constexpr std::uint64_t kElementBytes = 4;

class AnyOpTest : public ConformanceTest, public testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    op_ = SampleOp(GetParam());
    operands_ = OperandsOf(op_);
    name_ = OpName(op_);
    for (const Operand& operand : operands_) {
      values_.push_back(random_.Floats(static_cast<std::int64_t>(Bytes(operand) / 4)));
      *operand.address = Upload(values_.back());
    }
  }

  static std::uint64_t Bytes(const Operand& operand) {
    return static_cast<std::uint64_t>(operand.ExtentBytes());
  }

  // The contents of operand `i`, wherever it is now.
  std::vector<float> Contents(std::size_t i) {
    return Floats(*operands_[i].address, Bytes(operands_[i]) / 4);
  }

  // Fails unless every operand holds the bits it began with.
  void ExpectUntouched() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      EXPECT_TRUE(SameBits(Contents(i), values_[i])) << operands_[i].name;
    }
  }

  // Fails unless every output holds other bits than it began with.
  void ExpectWritten() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      EXPECT_NE(SameBits(Contents(i), values_[i]), operands_[i].Written()) << operands_[i].name;
    }
  }

  Op op_;
  // Refer to op_'s fields.
  OperandList operands_;
  std::string name_;
  std::vector<std::vector<float>> values_;
};

TEST_P(AnyOpTest, MatchesTheReference) {
  for (std::size_t i = 0; i < operands_.size(); ++i)
    *operands_[i].address = HostAddress(values_[i]);
  RunBoth(op_);
}

TEST_P(AnyOpTest, FitsIntoAllocationsOfExactlyItsOperands) {
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  ExpectWritten();
}

// A device need not zero what such an output is going to overwrite, so nothing may be left out.
TEST_P(AnyOpTest, OverwritesAllOfAnOutputThatItDoesNotRead) {
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    results.push_back(Contents(i));
    if (operands_[i].access != Access::kWrite) continue;
    *operands_[i].address = Upload(std::vector<float>(values_[i].size(), kNan));
  }
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].access != Access::kWrite) continue;
    EXPECT_TRUE(SameBits(Contents(i), results[i])) << operands_[i].name;
  }
}

TEST_P(AnyOpTest, RunsOnANamedStream) {
  const Stream stream = NewStream();
  ASSERT_TRUE(IsOk(backend().Run(op_, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  ExpectWritten();
}

TEST_P(AnyOpTest, ReachesOperandsInTheMiddleOfOneAllocation) {
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < operands_.size(); ++i) alone.push_back(Contents(i));

  // One after the other, without a gap.
  std::uint64_t total = kElementBytes;
  for (const Operand& operand : operands_) total += Bytes(operand);
  Address next = Alloc(total) + kElementBytes;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    *operands_[i].address = next;
    Write(next, AsBytes(values_[i]));
    next += Bytes(operands_[i]);
  }
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    EXPECT_EQ(Contents(i), alone[i]) << operands_[i].name;
  }
}

TEST_P(AnyOpTest, RefusesAddressZero) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Address valid = *operands_[i].address;
    *operands_[i].address = 0;
    const absl::Status status = backend().Run(op_);
    EXPECT_TRUE(IsInvalidArgument(status, {name_, operands_[i].name}));
    EXPECT_TRUE(HasReason(status, reason::kUnknownAddress));
    *operands_[i].address = valid;
  }
  ExpectUntouched();
}

TEST_P(AnyOpTest, RefusesAFreedOperand) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Address valid = *operands_[i].address;
    const Address freed = Alloc(Bytes(operands_[i]));
    ASSERT_TRUE(IsOk(backend().Free(freed)));
    *operands_[i].address = freed;
    const absl::Status status = backend().Run(op_);
    EXPECT_TRUE(IsInvalidArgument(status, {name_, operands_[i].name}));
    EXPECT_TRUE(HasReason(status, reason::kUnknownAddress));
    *operands_[i].address = valid;
  }
  ExpectUntouched();
}

TEST_P(AnyOpTest, RefusesAnOperandThatEndsBeyondItsAllocation) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const std::uint64_t bytes = Bytes(operands_[i]);
    *operands_[i].address += kElementBytes;
    EXPECT_TRUE(IsInvalidArgument(
        backend().Run(op_), {name_, operands_[i].name, fmt::format("{}", bytes + kElementBytes),
                             fmt::format("{} bytes", bytes)}));
    *operands_[i].address -= kElementBytes;
  }
  ExpectUntouched();
}

TEST_P(AnyOpTest, RefusesAnOperandThatStartsBeforeOrBehindItsAllocation) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Address valid = *operands_[i].address;
    for (const Address outside :
         {valid - kElementBytes, valid + Bytes(operands_[i]), ~Address{0} - (kElementBytes - 1)}) {
      *operands_[i].address = outside;
      EXPECT_TRUE(IsInvalidArgument(backend().Run(op_), {name_, operands_[i].name}));
    }
    *operands_[i].address = valid;
  }
  ExpectUntouched();
}

TEST_P(AnyOpTest, RefusesAnAddressThatIsNoMultipleOfItsElements) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].element_bytes == 1) continue;
    const Address valid = *operands_[i].address;
    *operands_[i].address = Alloc(Bytes(operands_[i]) + kElementBytes) + 2;
    EXPECT_TRUE(IsInvalidArgument(backend().Run(op_), {name_, operands_[i].name}));
    *operands_[i].address = valid;
  }
  ExpectUntouched();
}

// Whatever else the output shares an element with: an input, or another output.
TEST_P(AnyOpTest, RefusesAnOutputThatPartlyOverlapsAnotherOperand) {
  for (std::size_t output = 0; output < operands_.size(); ++output) {
    if (!operands_[output].Written()) continue;
    for (std::size_t other = 0; other < operands_.size(); ++other) {
      if (other == output) continue;
      const Address valid_output = *operands_[output].address;
      const Address valid_other = *operands_[other].address;
      const std::uint64_t size = Bytes(operands_[output]) + Bytes(operands_[other]);
      const Address both = Alloc(2 * size);
      const std::vector<float> before = Floats(both, 2 * size / 4);

      // By all but one element from the front, by one element at the back.
      *operands_[other].address = both + Bytes(operands_[output]);
      for (const Address overlapping :
           {both + Bytes(operands_[output]) + kElementBytes, both + kElementBytes}) {
        *operands_[output].address = overlapping;
        EXPECT_TRUE(IsInvalidArgument(backend().Run(op_),
                                      {name_, operands_[output].name, operands_[other].name}));
      }
      *operands_[output].address = both;
      EXPECT_TRUE(IsOk(backend().SynchronizeStream(kDefaultStream)));
      EXPECT_EQ(Floats(both, 2 * size / 4), before);
      *operands_[output].address = valid_output;
      *operands_[other].address = valid_other;
    }
  }
  ExpectUntouched();
}

TEST_P(AnyOpTest, AllowsAnOutputAtAnInputsAddressOnlyWhereItMayBeInPlace) {
  for (const Operand& output : operands_) {
    if (!output.Written()) continue;
    for (const Operand& input : operands_) {
      if (input.Written()) continue;
      const Address valid = *output.address;
      const Address room = Alloc(Bytes(output) + Bytes(input));
      const Address valid_input = *input.address;
      *output.address = room;
      *input.address = room;
      const absl::Status status = backend().Run(op_);
      if (AllowsInPlace(op_)) {
        EXPECT_TRUE(IsOk(status));
      } else {
        EXPECT_TRUE(IsInvalidArgument(status, {name_, output.name, input.name}));
      }
      *output.address = valid;
      *input.address = valid_input;
    }
  }
}

TEST_P(AnyOpTest, ReportsAnUnknownStream) {
  const Stream destroyed = NewStream();
  ASSERT_TRUE(IsOk(backend().DestroyStream(destroyed)));
  for (const Stream stream : {destroyed, Stream{0xbad}, Stream{~std::uint64_t{0}}}) {
    const absl::Status status = backend().Run(op_, stream);
    EXPECT_TRUE(IsInvalidArgument(status));
    EXPECT_TRUE(HasReason(status, reason::kUnknownStream));
  }
  ExpectUntouched();
}

// A refused op is not an error of its stream: what was refused was never submitted.
TEST_P(AnyOpTest, LeavesItsStreamUsableAfterARefusal) {
  const Stream stream = NewStream();
  const Address valid = *operands_[0].address;
  *operands_[0].address = 0;
  EXPECT_TRUE(IsInvalidArgument(backend().Run(op_, stream)));
  *operands_[0].address = valid;
  EXPECT_TRUE(IsOk(backend().Run(op_, stream)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  ExpectWritten();
}

TEST_P(AnyOpTest, GivesTheSameBitsAloneAndBehindOtherWork) {
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < operands_.size(); ++i) alone.push_back(Contents(i));

  for (std::size_t i = 0; i < operands_.size(); ++i)
    Write(*operands_[i].address, AsBytes(values_[i]));
  const Stream stream = NewStream();
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Run(op_, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    EXPECT_TRUE(SameBits(Contents(i), alone[i])) << operands_[i].name;
  }
}

// Free makes an address invalid at once, but not the work that already names it.
TEST_P(AnyOpTest, FinishesThoughItsInputsAreFreedMeanwhile) {
  ASSERT_TRUE(IsOk(backend().Run(op_)));
  std::vector<std::vector<float>> undisturbed;
  for (std::size_t i = 0; i < operands_.size(); ++i) undisturbed.push_back(Contents(i));

  for (std::size_t i = 0; i < operands_.size(); ++i)
    Write(*operands_[i].address, AsBytes(values_[i]));
  const Stream stream = NewStream();
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Run(op_, stream)));
  for (const Operand& operand : operands_) {
    if (operand.Written()) continue;
    EXPECT_TRUE(IsOk(backend().Free(*operand.address)));
  }
  // Memory that returned too early would be handed out here, and change.
  for (const Operand& operand : operands_) {
    EXPECT_TRUE(IsOk(backend().Memset(Alloc(Bytes(operand)), 0xff, Bytes(operand))));
  }
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i].Written()) continue;
    EXPECT_TRUE(SameBits(Contents(i), undisturbed[i])) << operands_[i].name;
  }
}

TEST_P(AnyOpTest, NeedsInitFirstWhateverItsArguments) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  for (const Op& op : {op_, SampleOp(GetParam())}) {
    const absl::Status status = fresh->Run(op);
    EXPECT_TRUE(HasCode(status, absl::StatusCode::kFailedPrecondition));
    EXPECT_TRUE(HasReason(status, reason::kNotInitialized));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, AnyOpTest, testing::Range<std::size_t>(0, kOpCount),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return std::string(OpName(info.param));
                         });

}  // namespace
}  // namespace acceld::conformance
