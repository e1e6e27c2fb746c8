#include "tests/conformance/fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/reference/reference.h"
#include "fmt/format.h"

namespace acceld::conformance {
namespace {

// Around each operand on the device. No multiple of a vector's width, so that operands are aligned
// to their elements and no better.
constexpr std::uint64_t kGuardBytes = 264;
constexpr std::byte kGuardByte{0xa5};

// The memory of one operand (or of several at one address), here and on the device.
struct Image {
  std::byte* host = nullptr;
  std::uint64_t bytes = 0;
  bool written = false;
  // As it was before the op; and after, on the device, with its guards.
  std::vector<std::byte> before;
  std::vector<std::byte> after;
  // For each byte, whether it belongs to a written operand's element.
  std::vector<bool> is_output;
  Address device = 0;
};

void MarkElements(const Operand& operand, std::vector<bool>& is_output) {
  for (std::uint64_t batch = 0; batch < operand.batches; ++batch) {
    for (std::uint64_t row = 0; row < operand.rows; ++row) {
      const auto first =
          is_output.begin() + static_cast<std::ptrdiff_t>(batch * operand.batch_stride_bytes +
                                                          row * operand.pitch_bytes);
      std::fill_n(first, operand.row_bytes, true);
    }
  }
}

// The type in which an op's outputs are compared.
enum class Elements { kBytes, kF32, kF64 };

Elements ElementsOf(const Op& op) {
  return std::visit(
      [](const auto& typed) {
        using OpType = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<OpType, ops::Memset> ||
                      std::is_same_v<OpType, ops::CopyDtoD>) {
          return Elements::kBytes;
        } else if constexpr (requires { typed.type; }) {
          return typed.type == DataType::kF64 ? Elements::kF64 : Elements::kF32;
        } else {
          return Elements::kF32;
        }
      },
      op);
}

template <typename T>
testing::AssertionResult CompareAs(const Image& image, const Tolerance& tolerance) {
  const std::size_t count = image.bytes / sizeof(T);
  std::vector<T> expected(count);
  std::vector<T> found(count);
  std::memcpy(expected.data(), image.host, count * sizeof(T));
  std::memcpy(found.data(), image.after.data() + kGuardBytes, count * sizeof(T));
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(expected[i]);
    if (image.is_output[i * sizeof(T)] && std::isfinite(value)) {
      largest = std::max(largest, std::abs(value));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!image.is_output[i * sizeof(T)]) {
      if (std::memcmp(image.before.data() + i * sizeof(T), &found[i], sizeof(T)) != 0) {
        return testing::AssertionFailure()
               << "element " << i << " of the allocation, between an output's rows, was written";
      }
    } else if (!IsNear(static_cast<double>(found[i]), static_cast<double>(expected[i]), largest,
                       tolerance)) {
      return testing::AssertionFailure()
             << fmt::format("element {} of {} is {:.9g}, and should be {:.9g}", i, count,
                            static_cast<double>(found[i]), static_cast<double>(expected[i]));
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult Compare(const Image& image, Elements elements,
                                 const Tolerance& tolerance) {
  const auto end = image.after.end() - static_cast<std::ptrdiff_t>(kGuardBytes);
  const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
  if (!std::all_of(image.after.begin(), image.after.begin() + kGuardBytes, is_guard) ||
      !std::all_of(end, image.after.end(), is_guard)) {
    return testing::AssertionFailure() << "memory outside the operand was written";
  }
  if (!image.written) {
    if (std::equal(image.before.begin(), image.before.end(), image.after.begin() + kGuardBytes)) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "an input was written";
  }
  switch (elements) {
    case Elements::kBytes:
      return CompareAs<std::uint8_t>(image, tolerance);
    case Elements::kF32:
      return CompareAs<float>(image, tolerance);
    case Elements::kF64:
      return CompareAs<double>(image, tolerance);
  }
  return testing::AssertionFailure();
}

}  // namespace

ConformanceTest::ConformanceTest()
    : seed_trace_(__FILE__, __LINE__, fmt::format("ACCELD_TEST_SEED={}", random_.seed())) {}

void ConformanceTest::SetUp() {
  backend_ = MakeBackend();
  ASSERT_NE(backend_, nullptr);
  ASSERT_TRUE(IsOk(backend_->Init()));
}

std::uint64_t ConformanceTest::FreeMemorySlackBytes() const {
  const DeviceInfo device = backend_->devices().at(0);
  // The name is FakeCudaDriver's.
  const bool on_card = device.kind == BackendKind::kCuda && device.name != "fake card";
  return on_card ? kFreeMemorySlackBytes : 0;
}

std::uint64_t ConformanceTest::FreeMemoryBytes() {
  return backend_->devices().at(0).free_memory_bytes.value();
}

Address ConformanceTest::Alloc(std::uint64_t bytes) {
  const absl::StatusOr<Address> address = backend_->Alloc(bytes);
  EXPECT_TRUE(IsOk(address)) << bytes << " bytes";
  return address.ok() ? *address : 0;
}

Stream ConformanceTest::NewStream() {
  uses_streams_ = true;
  OrderUploads();
  const absl::StatusOr<Stream> stream = backend_->CreateStream();
  EXPECT_TRUE(IsOk(stream));
  return stream.ok() ? *stream : Stream{~std::uint64_t{0}};
}

Event ConformanceTest::NewEvent() {
  const absl::StatusOr<Event> event = backend_->CreateEvent();
  EXPECT_TRUE(IsOk(event));
  return event.ok() ? *event : Event{~std::uint64_t{0}};
}

void ConformanceTest::Write(Address target, absl::Span<const std::byte> bytes) {
  EXPECT_TRUE(IsOk(backend_->CopyHtoD(target, bytes)));
  OrderUploads();
}

void ConformanceTest::OrderUploads() {
  if (!uses_streams_) return;
  EXPECT_TRUE(IsOk(backend_->SynchronizeStream(kDefaultStream)));
}

void ConformanceTest::Read(absl::Span<std::byte> bytes, Address source,
                           std::optional<Stream> stream) {
  EXPECT_TRUE(IsOk(backend_->CopyDtoH(bytes, source, stream)));
}

void ConformanceTest::KeepBusy(Stream stream, int times) {
  constexpr std::int64_t kSize = 768;
  constexpr std::uint64_t kMatrixBytes = kSize * kSize * sizeof(double);
  if (busy_matrices_ == 0) {
    busy_matrices_ = Alloc(3 * kMatrixBytes);
    // Fresh memory may be zeroed at its first use: not in the middle of a test.
    EXPECT_TRUE(IsOk(backend_->Memset(busy_matrices_, 0, 3 * kMatrixBytes)));
    EXPECT_TRUE(IsOk(backend_->SynchronizeStream(kDefaultStream)));
  }
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(IsOk(backend_->Gemm({.type = DataType::kF64,
                                     .m = kSize,
                                     .n = kSize,
                                     .k = kSize,
                                     .a = busy_matrices_,
                                     .lda = kSize,
                                     .b = busy_matrices_ + kMatrixBytes,
                                     .ldb = kSize,
                                     .c = busy_matrices_ + 2 * kMatrixBytes,
                                     .ldc = kSize},
                                    stream)));
  }
}

void ConformanceTest::RunBoth(const Op& op, const Tolerance& tolerance) {
  Op host_op = op;
  Op device_op = op;
  ASSERT_TRUE(IsOk(CheckParameters(op)));
  const OperandList host_operands = OperandsOf(host_op);
  const OperandList device_operands = OperandsOf(device_op);

  std::vector<Image> images;
  for (std::size_t i = 0; i < host_operands.size(); ++i) {
    const Operand& operand = host_operands[i];
    if (operand.Empty()) {
      *device_operands[i].address = kGarbage;
      continue;
    }
    auto* const host = reinterpret_cast<std::byte*>(*operand.address);
    auto image = std::find_if(images.begin(), images.end(),
                              [&](const Image& other) { return other.host == host; });
    if (image == images.end()) {
      image = images.emplace(images.end());
      image->host = host;
      image->bytes = static_cast<std::uint64_t>(operand.ExtentBytes());
      image->before.assign(host, host + image->bytes);
      image->is_output.assign(image->bytes, false);
      std::vector<std::byte> guarded(image->bytes + 2 * kGuardBytes, kGuardByte);
      std::copy(image->before.begin(), image->before.end(), guarded.begin() + kGuardBytes);
      image->device = Upload(guarded);
    }
    ASSERT_EQ(image->bytes, static_cast<std::uint64_t>(operand.ExtentBytes()));
    if (operand.Written()) {
      image->written = true;
      MarkElements(operand, image->is_output);
    }
    *device_operands[i].address = image->device + kGuardBytes;
  }

  reference::Run(op);
  ASSERT_TRUE(IsOk(backend_->Run(device_op)));
  for (Image& image : images) {
    image.after = Download<std::byte>(image.device, image.bytes + 2 * kGuardBytes);
    EXPECT_TRUE(IsOk(backend_->Free(image.device)));
  }
  for (const Image& image : images) EXPECT_TRUE(Compare(image, ElementsOf(op), tolerance));
}

}  // namespace acceld::conformance
