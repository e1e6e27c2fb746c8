// What the ops do besides one launch: pieces, workspace, lists of rows. The conformance suite runs
// over the fake card, too, and has the rest.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/context.h"
#include "backends/cuda/kernels/reduce_rows.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/image_groups.h"
#include "backends/cuda/ops/in_pieces.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/stream_workspace.h"
#include "backends/reference/reference.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

template <typename T>
Address AddressOf(const std::vector<T>& data) {
  return reinterpret_cast<Address>(data.data());
}

// A fake card, whose memory is the host's, and what ops need of it.
class CudaOpsTest : public testing::Test {
 protected:
  CudaOpsTest() {
    EXPECT_TRUE(card_->Init().ok());
    stream_ = card_->CreateStream(0).value;
  }
  ~CudaOpsTest() override {
    for (std::byte* const data : allocated_) EXPECT_TRUE(card_->Free(stream_, data).ok());
    EXPECT_TRUE(card_->Synchronize(stream_).ok());
    EXPECT_TRUE(card_->DestroyStream(stream_).ok());
  }

  template <typename T>
  Address Upload(const std::vector<T>& values) {
    std::byte* const data = card_->Allocate(stream_, values.size() * sizeof(T)).value;
    allocated_.push_back(data);
    EXPECT_TRUE(card_->Synchronize(stream_).ok());
    std::memcpy(data, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<Address>(data);
  }
  std::vector<float> Download(Address address, std::size_t count) {
    std::vector<float> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address), count * sizeof(float));
    return values;
  }

  // Submits by `submit`, and waits until all is done.
  template <typename Submit>
  absl::Status Run(Submit submit) {
    cuda::OpResources resources;
    const absl::Status status = [&] {
      cuda::CudaContext context(*card_, stream_, plans_, pinned_, &workspace_, resources);
      return submit(context);
    }();
    EXPECT_TRUE(card_->Synchronize(stream_).ok());
    workspace_.End(resources.workspace_bytes);
    for (std::byte* const block : resources.pinned) pinned_.GiveBack(block);
    return status;
  }

  std::vector<float> Floats(std::size_t count) {
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> values(count);
    for (float& value : values) value = distribution(engine_);
    return values;
  }

  std::unique_ptr<FakeCudaDriver> card_ = MakeFakeCudaDriver();
  cuda::PlanCache plans_{*card_};
  cuda::PinnedPool pinned_{*card_};
  MemoryBudget budget_{"The card", std::uint64_t{64} << 20};
  cuda::StreamWorkspace workspace_{budget_};
  cuda::StreamHandle stream_{};
  std::vector<std::byte*> allocated_;
  std::mt19937 engine_{7};
};

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 2e-5) << "element " << i;
  }
}

// m, n and k of several blocks each, the last of them partial.
TEST_F(CudaOpsTest, MixedPrecisionGoesBlockByBlock) {
  for (const MixedPrecision precision : {MixedPrecision::kF16, MixedPrecision::kBf16}) {
    for (const Transpose transpose_a : {Transpose::kNone, Transpose::kTranspose}) {
      for (const Transpose transpose_b : {Transpose::kNone, Transpose::kConjugateTranspose}) {
        const std::vector<float> a = Floats(60 * 60);
        const std::vector<float> b = Floats(60 * 60);
        const std::vector<float> c = Floats(60 * 60);
        std::vector<float> expected = c;
        ops::GemmMixedPrecision op{.precision = precision,
                                   .transpose_a = transpose_a,
                                   .transpose_b = transpose_b,
                                   .m = 37,
                                   .n = 50,
                                   .k = 41,
                                   .alpha = 0.5f,
                                   .a = AddressOf(a),
                                   .lda = 57,
                                   .b = AddressOf(b),
                                   .ldb = 59,
                                   .beta = 2,
                                   .c = AddressOf(expected),
                                   .ldc = 43};
        reference::Run(op);
        op.a = Upload(a);
        op.b = Upload(b);
        op.c = Upload(c);
        const int before = card_->calls("Gemm");
        ASSERT_THAT(Run([&](auto& context) { return RunInBlocks(op, 16, context); }), IsOk());
        EXPECT_EQ(card_->calls("Gemm") - before, 3 * 4 * 3);
        ExpectNear(Download(op.c, c.size()), expected);
      }
    }
  }
}

ops::Conv2dBackwardFilter FilterGradientOf(const Conv2dShape& shape, Address input,
                                           Address output_gradient, Address filter_gradient) {
  return {.shape = shape,
          .input = input,
          .output_gradient = output_gradient,
          .filter_gradient = filter_gradient};
}

// The fake card reports arrays that a library is handed so.
TEST_F(CudaOpsTest, ConvolutionsTakeArraysOfAnyAlignment) {
  const auto shape = Conv2dShape::For({2, 3, 5, 4}, {2, 3, 2, 3});
  // Each with an element before it.
  const std::vector<float> input = Floats(static_cast<std::size_t>(ElementCount(shape.input)) + 1);
  const std::vector<float> filter =
      Floats(static_cast<std::size_t>(ElementCount(shape.filter)) + 1);
  const std::vector<float> output =
      Floats(static_cast<std::size_t>(ElementCount(shape.output)) + 1);
  const auto expect_like_reference = [this](auto op, Address decltype(op)::*result) {
    std::vector<std::vector<float>> expected;
    auto host_op = op;
    auto device_op = op;
    const OperandList host = host_op.Operands();
    const OperandList device = device_op.Operands();
    std::size_t size = 0;
    for (std::size_t i = 0; i < host.size(); ++i) {
      const auto* const values = reinterpret_cast<const std::vector<float>*>(*host[i].address);
      expected.push_back(*values);
      *device[i].address = Upload(*values) + sizeof(float);
      *host[i].address = AddressOf(expected.back()) + sizeof(float);
      if (host[i].Written()) size = values->size();
    }
    reference::Run(host_op);
    ASSERT_THAT(Run([&](auto& context) { return cuda::Run(device_op, context); }), IsOk());
    const Address device_result = device_op.*result - sizeof(float);
    const Address host_result = host_op.*result - sizeof(float);
    ExpectNear(Download(device_result, size), Download(host_result, size));
  };
  const auto holds = [](const std::vector<float>& values) {
    return reinterpret_cast<Address>(&values);
  };
  expect_like_reference(
      ops::Conv2dForward{
          .shape = shape, .input = holds(input), .filter = holds(filter), .output = holds(output)},
      &ops::Conv2dForward::output);
  expect_like_reference(ops::Conv2dBackwardData{.shape = shape,
                                                .filter = holds(filter),
                                                .output_gradient = holds(output),
                                                .input_gradient = holds(input)},
                        &ops::Conv2dBackwardData::input_gradient);
  expect_like_reference(FilterGradientOf(shape, holds(input), holds(output), holds(filter)),
                        &ops::Conv2dBackwardFilter::filter_gradient);
}

TEST_F(CudaOpsTest, FilterGradientsAddUpOverGroupsOfImages) {
  const auto shape = Conv2dShape::For({7, 2, 6, 5}, {3, 2, 3, 2}, {1, 2}, {1, 0});
  const std::vector<float> input = Floats(static_cast<std::size_t>(ElementCount(shape.input)));
  const std::vector<float> gradient = Floats(static_cast<std::size_t>(ElementCount(shape.output)));
  std::vector<float> expected(static_cast<std::size_t>(ElementCount(shape.filter)), NAN);
  reference::Run(
      FilterGradientOf(shape, AddressOf(input), AddressOf(gradient), AddressOf(expected)));
  const auto op = FilterGradientOf(shape, Upload(input), Upload(gradient),
                                   Upload(std::vector<float>(expected.size(), NAN)));
  for (const std::int64_t images : {1, 2, 3, 7}) {
    const int before = card_->calls("RunConvolution");
    const std::int64_t elements = images * std::max<std::int64_t>(ElementCount(shape.input) / 7,
                                                                  ElementCount(shape.output) / 7);
    ASSERT_THAT(Run([&](auto& context) { return RunInGroups(op, elements, context); }), IsOk());
    EXPECT_EQ(card_->calls("RunConvolution") - before, (7 + images - 1) / images);
    ExpectNear(Download(op.filter_gradient, expected.size()), expected);
  }
}

TEST_F(CudaOpsTest, GroupsOfImagesCoverThemAll) {
  const auto shape = Conv2dShape::For({7, 2, 6, 5}, {3, 2, 3, 2});
  for (const std::int64_t max_elements : {1, 60, 119, 120, 121, 1000}) {
    std::int64_t images = 0;
    ASSERT_THAT(cuda::ForEachImageGroup(
                    shape, max_elements,
                    [&](const Conv2dShape& part, std::int64_t input, std::int64_t output) {
                      EXPECT_THAT(part.Check("part"), IsOk());
                      EXPECT_EQ(input, images * 2 * 6 * 5);
                      EXPECT_EQ(output, images * 3 * 4 * 4);
                      EXPECT_EQ(part.input[0],
                                std::min<std::int64_t>(
                                    7 - images, std::max<std::int64_t>(1, max_elements / 60)));
                      images += part.input[0];
                      return absl::OkStatus();
                    }),
                IsOk());
    EXPECT_EQ(images, 7);
  }
}

TEST_F(CudaOpsTest, OfARepeatedIndexScatterWritesTheLastRow) {
  std::vector<std::int64_t> indices;
  for (int i = 0; i < 1000; ++i) {
    indices.push_back(std::uniform_int_distribution<std::int64_t>(0, 99)(engine_));
  }
  const std::vector<float> source = Floats(1000 * 3);
  std::vector<float> table = Floats(100 * 3);
  ops::Scatter op{.rows = 100,
                  .columns = 3,
                  .indices = indices,
                  .source = Upload(source),
                  .table = Upload(table)};
  ASSERT_THAT(Run([&](auto& context) { return cuda::Run(op, context); }), IsOk());
  const std::vector<float> scattered = Download(op.table, table.size());
  op.source = AddressOf(source);
  op.table = AddressOf(table);
  reference::Run(op);
  EXPECT_EQ(scattered, table);
}

// Long rows are the library's, in one call; a kernel of ours takes what is short or lies apart.
TEST_F(CudaOpsTest, ReductionsGoByTheirShape) {
  struct Case {
    Shape shape;
    std::int64_t axis;
    int library_calls;
    int launches;
  };
  constexpr std::int64_t kLong = cuda::ReductionCall::kMinLength;
  for (const Case& c : {Case{{kLong}, 0, 1, 0},
                        {{300'001}, 0, 1, 0},
                        {{3, 30'001}, 1, 1, 0},
                        {{100, kLong + 1}, 1, 1, 0},
                        {{2, 50, kLong}, 2, 1, 0},
                        {{3, kLong, 1, 1}, 1, 1, 0},
                        {{1, 300'001, 1}, 1, 1, 0},
                        {{kLong - 1}, 0, 0, 1},
                        {{500, kLong - 1}, 1, 0, 1},
                        {{kLong, 100}, 0, 0, 2},
                        {{3, kLong, 2}, 1, 0, 1},
                        {{10, 100}, 0, 0, 1},
                        {{10'000, 1}, 1, 0, 1}}) {
    for (const ReduceOp reduce_op :
         {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kMean}) {
      SCOPED_TRACE(testing::Message() << Name(reduce_op) << " " << c.shape.ToString());
      const std::vector<float> input = Floats(static_cast<std::size_t>(c.shape.ElementCount()));
      ops::Reduce op{.op = reduce_op, .shape = c.shape, .axis = c.axis};
      std::vector<float> expected(static_cast<std::size_t>(op.OutputCount()), NAN);
      op.input = AddressOf(input);
      op.output = AddressOf(expected);
      reference::Run(op);
      op.input = Upload(input);
      op.output = Upload(std::vector<float>(expected.size(), NAN));
      const int calls = card_->calls("Reduce");
      const int launches = card_->calls("Launch");
      ASSERT_THAT(Run([&](auto& context) { return cuda::Run(op, context); }), IsOk());
      EXPECT_EQ(card_->calls("Reduce") - calls, c.library_calls);
      EXPECT_EQ(card_->calls("Launch") - launches, c.launches);
      ExpectNear(Download(op.output, expected.size()), expected);
    }
  }
}

TEST_F(CudaOpsTest, WithoutWorkspaceAnOpIsOutOfMemory) {
  const std::vector<float> input(1'000'000, 1);
  const ops::Reduce op{.op = ReduceOp::kSum,
                       .shape = {1'000'000},
                       .axis = 0,
                       .input = Upload(input),
                       .output = Upload(std::vector<float>{-1})};
  // Also once the pool is trimmed.
  card_->FailCall("Allocate", 1, kDriverOutOfMemory);
  card_->FailCall("Allocate", 2, kDriverOutOfMemory);
  EXPECT_EQ(Run([&](auto& context) { return cuda::Run(op, context); }).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Download(op.output, 1), testing::ElementsAre(-1));
  ASSERT_THAT(Run([&](auto& context) { return cuda::Run(op, context); }), IsOk());
  EXPECT_THAT(Download(op.output, 1), testing::ElementsAre(1'000'000));
}

TEST_F(CudaOpsTest, AProductWithoutTermsCallsNoLibrary) {
  const std::vector<double> c = {1, 2, 3, 4};
  const Address on_card = Upload(c);
  const ops::Gemm op{.type = DataType::kF64,
                     .m = 2,
                     .n = 2,
                     .k = 0,
                     .lda = 2,
                     .ldb = 1,
                     .beta = 3,
                     .c = on_card,
                     .ldc = 2};
  ASSERT_THAT(Run([&](auto& context) { return cuda::Run(op, context); }), IsOk());
  EXPECT_EQ(card_->calls("Gemm"), 0);
  std::vector<double> scaled(4);
  std::memcpy(scaled.data(), reinterpret_cast<const void*>(on_card), sizeof(double) * 4);
  EXPECT_THAT(scaled, testing::ElementsAre(3, 6, 9, 12));
}

}  // namespace
}  // namespace acceld
