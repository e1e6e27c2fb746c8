#include "backends/context/program_table.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::Pointee;
using ::testing::Property;

constexpr std::uint64_t kBytes = 64;

class ProgramTableTest : public ::testing::Test {
 protected:
  Address Add(std::uint64_t bytes = kBytes) {
    const Address base = *range_.Take(bytes);
    space_.Insert(std::make_shared<Allocation>(base, bytes, memory_));
    return base;
  }
  void Remove(Address base) { EXPECT_THAT(space_.Remove(base).status(), IsOk()); }

  static ProgramItem Fill(Address target, std::uint64_t bytes = kBytes) {
    return ops::Memset{.target = target, .value = 1, .bytes = bytes};
  }
  static ProgramItem Copy(Address target, Address source, std::uint64_t bytes = kBytes) {
    return ops::CopyDtoD{.target = target, .source = source, .bytes = bytes};
  }
  absl::StatusOr<Program> Define(std::vector<ProgramItem> items, Program chosen = Program{0}) {
    return table_.Define(std::move(items), all_, space_, chosen);
  }
  absl::StatusOr<ProgramTable::Bound> Bind(Program program,
                                           absl::Span<const Rebinding> rebindings = {}) {
    return table_.Bind(program, rebindings, all_, space_);
  }
  absl::Status BindError(Program program, absl::Span<const Rebinding> rebindings = {}) {
    return Bind(program, rebindings).status();
  }

  std::byte memory_[1];
  const OpSet all_ = OpSet().set();
  AddressRange range_ = AddressSpace::ServerRange();
  AddressSpace space_;
  HostDevice device_;
  ProgramTable table_{{.programs = 3, .items = 4, .bytes = 20000}, &device_};
};

TEST_F(ProgramTableTest, ABindingIsMadeOnceAndRemembered) {
  const Address a = Add();
  const Address b = Add();
  const Program program = *Define({Fill(a)});
  const auto own = Bind(program)->program;
  const auto rebound = Bind(program, {{{a, b}}})->program;
  EXPECT_NE(own, rebound);
  EXPECT_EQ(Bind(program)->program, own);
  EXPECT_EQ(Bind(program, {{{a, b}}})->program, rebound);
  EXPECT_EQ(Bind(program, {{{a, a}}})->program, own);
}

TEST_F(ProgramTableTest, ABoundProgramHoldsWhatItsWorkNames) {
  const Address a = Add();
  const Address b = Add();
  const Address c = Add();
  const Program program = *Define({Copy(b, a), Fill(b)});
  const auto base = [](Address address) { return Pointee(Property(&Allocation::base, address)); };
  EXPECT_THAT(Bind(program)->allocations, ElementsAre(base(a), base(b)));
  EXPECT_THAT(Bind(program, {{{a, c}}})->allocations, ElementsAre(base(c), base(b)));
}

TEST_F(ProgramTableTest, ArithmeticInsideABufferIsKept) {
  const Address a = Add(2 * kBytes);
  const Address b = Add(2 * kBytes);
  const Program program = *Define({Fill(a + kBytes)});
  const auto bound = Bind(program, {{{a, b}}});
  ASSERT_THAT(bound.status(), IsOk());
  const auto& work = std::get<Work>(bound->program->steps[0]);
  EXPECT_EQ(std::get<ops::Memset>(std::get<Op>(work)).target,
            reinterpret_cast<Address>(memory_ + kBytes));
}

TEST_F(ProgramTableTest, EveryAccessFitsIntoTheReplacement) {
  const Address a = Add(2 * kBytes);
  const Address small = Add(kBytes);
  const Address enough = Add(kBytes + 8);
  const Program program = *Define({Fill(a + 8)});
  EXPECT_THAT(BindError(program, {{{a, small}}}),
              IsInvalid("Operand target of memset in a program ends at byte 72, beyond the "
                        "allocation of 64 bytes"));
  EXPECT_THAT(BindError(program, {{{a, enough}}}), IsOk());
}

TEST_F(ProgramTableTest, AnOffsetDoesNotReachAnotherAllocation) {
  const Address a = Add(1 << 20);
  const Address small = Add(kBytes);
  const Address next = Add(1 << 20);
  const Program program = *Define({Fill(a + (next - small))});
  EXPECT_THAT(BindError(program, {{{a, small}}}), IsInvalid("beyond the allocation of 64 bytes"));
}

TEST_F(ProgramTableTest, ABindingPassesTheChecksOfItsOps) {
  const Address a = Add();
  const Address b = Add();
  const Program program = *Define({Copy(b, a)});
  EXPECT_THAT(BindError(program, {{{b, a}}}), IsInvalid("share nothing"));
}

TEST_F(ProgramTableTest, RebindingsNameBuffersOnceAndByTheirStart) {
  const Address below = Add();
  const Address a = Add();
  const Address b = Add();
  const Program program = *Define({Fill(a)});
  EXPECT_THAT(BindError(program, {{{below, b}}}), IsInvalid("no op names"));
  EXPECT_THAT(BindError(program, {{{b, b}}}), IsInvalid("no op names"));
  EXPECT_THAT(BindError(program, {{{a + 1, b}}}), IsInvalid("no op names"));
  EXPECT_THAT(BindError(program, {{{0, b}}}), IsInvalid("no op names"));
  EXPECT_THAT(BindError(program, {{{a, b}, {a, b}}}), IsInvalid("twice"));
  EXPECT_THAT(BindError(program, {{{a, b + 1}}}), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(BindError(program, {{{a, 0}}}), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(BindError(*Define({}), {{{a, b}}}), IsInvalid("no op names"));
}

TEST_F(ProgramTableTest, MemoryMayBeFreedIfItIsRebound) {
  const Address a = Add();
  const Address b = Add();
  const Program program = *Define({Fill(a)});
  Remove(a);
  EXPECT_THAT(BindError(program), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(BindError(program, {{{a, b}}}), IsOk());
  Remove(b);
  EXPECT_THAT(BindError(program, {{{a, b}}}), HasReason(reason::kUnknownAddress));
}

TEST_F(ProgramTableTest, ItsAllocationsOwnErrorIsReturned) {
  const absl::Status failed = OutOfMemory("There is none.");
  space_.Insert(std::make_shared<Allocation>(1 << 20, kBytes, failed));
  const Address a = Add();
  EXPECT_EQ(Define({Fill(1 << 20)}).status(), failed);
  EXPECT_EQ(BindError(*Define({Fill(a)}), {{{a, 1 << 20}}}), failed);
}

TEST_F(ProgramTableTest, AnOpThatFailsItsChecksMakesNoProgram) {
  const Address a = Add();
  EXPECT_THAT(Define({Fill(a), Fill(a, kBytes + 1)}).status(), IsInvalid("65"));
  EXPECT_THAT(table_.Define({Fill(a)}, OpSet(), space_).status(),
              IsStatus(absl::StatusCode::kUnimplemented, "memset"));
  EXPECT_EQ(table_.used_bytes(), 0u);
}

TEST_F(ProgramTableTest, NumbersAreTheTablesOrAClients) {
  EXPECT_EQ(*Define({}), Program{kServerAddressBase});
  EXPECT_EQ(*Define({}, Program{5}), Program{5});
  EXPECT_THAT(Define({}, Program{5}).status(), IsInvalid("program number 5"));
  EXPECT_THAT(BindError(Program{4}), HasReason(reason::kUnknownProgram));
}

TEST_F(ProgramTableTest, HasLimits) {
  const Address a = Add();
  const absl::Status long_one = Define({Fill(a), Fill(a), Fill(a), Fill(a), Fill(a)}).status();
  EXPECT_THAT(long_one, IsInvalid("5 items; the limit is 4"));
  EXPECT_THAT(long_one, HasReason(reason::kLimitExceeded));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Define({}).status(), IsOk());
  EXPECT_THAT(Define({}).status(), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(Define({}).status(), IsStatus(absl::StatusCode::kResourceExhausted, "3 programs"));
}

TEST_F(ProgramTableTest, ListsOfIndicesCount) {
  const Address table = Add(1024);
  const Address output = Add(1 << 20);
  ops::Gather gather{.rows = 1, .columns = 1, .table = table, .output = output};
  gather.indices.resize(3000);
  EXPECT_THAT(Define({std::move(gather)}).status(), HasReason(reason::kLimitExceeded));
  EXPECT_EQ(table_.used_bytes(), 0u);
}

TEST_F(ProgramTableTest, RemembersTheLatestBindings) {
  const Address a = Add();
  const Program program = *Define({Fill(a)});
  std::vector<Address> others;
  for (std::size_t i = 0; i < ProgramTable::kMaxBindings; ++i) others.push_back(Add());
  const std::weak_ptr<const internal::BoundProgram> own = Bind(program)->program;
  for (const Address other : others) {
    EXPECT_FALSE(own.expired());
    EXPECT_THAT(BindError(program, {{{a, other}}}), IsOk());
  }
  EXPECT_TRUE(own.expired());
  EXPECT_THAT(BindError(program), IsOk());
}

TEST_F(ProgramTableTest, ForgetsBindingsWhereThereIsNoRoomButNotThoseInUse) {
  const Address a = Add();
  const Program program = *Define({Fill(a), Fill(a), Fill(a), Fill(a)});
  std::vector<ProgramTable::Bound> in_use;
  absl::Status status;
  while (status.ok() && in_use.size() < 1000) {
    auto bound = Bind(program, {{{a, Add()}}});
    status = bound.status();
    if (bound.ok()) in_use.push_back(*std::move(bound));
  }
  EXPECT_THAT(status, IsStatus(absl::StatusCode::kResourceExhausted, "20000"));
  EXPECT_THAT(status, HasReason(reason::kLimitExceeded));
  EXPECT_LE(table_.used_bytes(), 20000u);
  in_use.clear();
  for (int i = 0; i < 1000; ++i) EXPECT_THAT(BindError(program, {{{a, Add()}}}), IsOk());
  EXPECT_LE(table_.used_bytes(), 20000u);
  EXPECT_THAT(table_.Destroy(program), IsOk());
  EXPECT_EQ(table_.used_bytes(), 0u);
}

TEST_F(ProgramTableTest, WhatAReplayUsesOutlivesItsProgramAndTheTable) {
  auto table = std::make_unique<ProgramTable>(ProgramLimits{}, &device_);
  const Address a = Add();
  const Program program = *table->Define({Fill(a)}, all_, space_);
  const auto bound = *table->Bind(program, {}, all_, space_);
  EXPECT_THAT(table->Destroy(program), IsOk());
  EXPECT_GT(table->used_bytes(), 0u);
  table.reset();
  EXPECT_EQ(bound.program->steps.size(), 1u);
}

TEST_F(ProgramTableTest, WithoutWorkItOnlyChecks) {
  ProgramTable checks(ProgramLimits{}, nullptr);
  const Address a = Add();
  const Address small = Add(8);
  const Program program = *checks.Define({Fill(a), EventItem{.event = Event{3}}}, all_, space_);
  const auto bound = checks.Bind(program, {}, all_, space_);
  ASSERT_THAT(bound.status(), IsOk());
  EXPECT_TRUE(bound->program->steps.empty());
  EXPECT_EQ(bound->program->events.size(), 1u);
  EXPECT_THAT(checks.Bind(program, {{{a, small}}}, all_, space_).status(), IsInvalid("8 bytes"));
}

}  // namespace
}  // namespace acceld
