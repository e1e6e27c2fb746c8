// Whatever call of the driver fails, and however: every piece of work ends once, what ends well is
// right, the fake reports no misuse, and the device works on unless the card is lost.
#include "backends/core/status.h"
#include "backends/cuda/staged_copy.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kBytes = 2 * cuda::StagedCopy::kPieceBytes + 100;

// Allocates openable memory, exports it, opens it and gives all back, as far as it goes.
void OpenAndClose(Device& device) {
  const absl::StatusOr<std::byte*> data = device.Allocate(1, {.openable = true});
  if (!data.ok()) return;
  if (const absl::StatusOr<UniqueFd> descriptor = device.ExportHandle(*data); descriptor.ok()) {
    const absl::StatusOr<std::byte*> opened = device.ImportHandle(descriptor->get(), 1);
    if (opened.ok()) device.Release(*opened, 1);
  }
  device.Release(*data, 1);
}

// Opens memory, writes, fills, runs a program and reads, as far as it goes; returns how many calls
// of the driver that took.
int UseDevice(FakeCudaDriver& card, Device& device) {
  const int before = card.calls("");
  if (!device.Init().ok()) return card.calls("") - before;
  absl::StatusOr<DeviceQueue> queue = device.CreateQueue(0);
  absl::StatusOr<std::byte*> data = device.Allocate(kBytes, {});
  OpenAndClose(device);
  if (queue.ok() && data.ok()) {
    const Bytes source(kBytes, 5);
    Bytes target(kBytes);
    const Submitted write(device, *queue,
                          HostToDevice{.target = *data,
                                       .source = reinterpret_cast<const std::byte*>(source.data()),
                                       .bytes = kBytes});
    const Submitted fill(
        device, *queue,
        Op(ops::Memset{.target = reinterpret_cast<Address>(*data), .value = 6, .bytes = 100}));
    // The last bytes, as they are.
    const Address last = reinterpret_cast<Address>(*data + kBytes - 8);
    const std::unique_ptr<const DeviceProgram> program = device.MakeProgram(
        {ops::Memset{.target = last, .value = 5, .bytes = 4},
         ops::Gather{.rows = 1, .columns = 1, .indices = {0}, .table = last, .output = last + 4},
         ops::Reduce{.op = ReduceOp::kMax,
                     .shape = {10'000},
                     .axis = 0,
                     .input = reinterpret_cast<Address>(*data + 128),
                     .output = last}});
    const Submitted first_run(device, *queue, program.get());
    const Submitted second_run(device, *queue, program.get());
    const Submitted read(device, *queue,
                         DeviceToHost{.target = reinterpret_cast<std::byte*>(target.data()),
                                      .source = *data,
                                      .bytes = kBytes});
    const bool all = write.Status().ok() & fill.Status().ok() & first_run.Status().ok() &
                     second_run.Status().ok() & read.Status().ok();
    Bytes expected = source;
    std::fill_n(expected.begin(), 100, 6);
    if (all) {
      EXPECT_EQ(target, expected);
    }
  }
  if (data.ok()) device.Release(*data, kBytes);
  if (queue.ok()) device.DestroyQueue(*queue);
  return card.calls("") - before;
}

class CudaAnyFailure : public testing::TestWithParam<cuda::DriverStatus> {};

// Where none fails.
int CountCalls() {
  std::unique_ptr<FakeCudaDriver> driver = MakeFakeCudaDriver();
  FakeCudaDriver& card = *driver;
  return UseDevice(card, *cuda::MakeCudaDevice(std::move(driver)));
}

TEST_P(CudaAnyFailure, OfAnyCall) {
  int calls = CountCalls();
  for (int n = 1; n <= calls; ++n) {
    SCOPED_TRACE(n);
    std::unique_ptr<FakeCudaDriver> driver = MakeFakeCudaDriver();
    FakeCudaDriver& card = *driver;
    const std::unique_ptr<Device> device = cuda::MakeCudaDevice(std::move(driver));
    card.FailCall("", n, GetParam());
    UseDevice(card, *device);
    // What has failed may have to be made again.
    calls = std::max(calls, UseDevice(card, *device));
    UseDevice(card, *device);
    absl::StatusOr<std::byte*> data = nullptr;
    if (const absl::Status initialized = device->Init(); initialized.ok()) {
      data = device->Allocate(1, {});
    } else {
      data = initialized;
    }
    if (GetParam().code == cuda::DriverCode::kDeviceLost) {
      EXPECT_TRUE(card.lost());
    }
    if (card.lost()) {
      EXPECT_THAT(data.status(), HasReason(reason::kDeviceLost));
    } else {
      ASSERT_THAT(data.status(), IsOk());
      device->Release(*data, 1);
    }
  }
}

std::string NameOfCode(const testing::TestParamInfo<cuda::DriverStatus>& info) {
  constexpr const char* kNames[] = {"Failed", "OutOfMemory", "DeviceLost"};
  return kNames[info.index];
}

INSTANTIATE_TEST_SUITE_P(Codes, CudaAnyFailure,
                         testing::Values(kDriverFailure, kDriverOutOfMemory, kDriverLost),
                         NameOfCode);

}  // namespace
}  // namespace acceld
