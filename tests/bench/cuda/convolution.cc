// Convolutions of plain NCHW arrays on the card, in TFLOP/s, against cuDNN with the algorithm that
// its heuristics put first. acceld's has to give the same bits every time, which that need not.

#include <utility>

#include "backends/core/status.h"
#include "backends/ops/conv2d_shape.h"
#include "fmt/format.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"

namespace acceld::bench {
namespace {

using cuda::ConvolutionKind;

constexpr std::int64_t kBatch = 32;

struct NamedShape {
  const char* name;
  // Of a batch.
  Conv2dShape (*shape)(std::int64_t batch);
};

constexpr NamedShape kShapes[] = {
    {"64x56x56_3x3",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1});
     }},
    {"256x14x14_3x3",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 256, 14, 14}, {256, 256, 3, 3}, {1, 1}, {1, 1});
     }},
    {"3x224x224_7x7s2",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 3, 224, 224}, {64, 3, 7, 7}, {2, 2}, {3, 3});
     }},
    {"512x7x7_1x1",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 512, 7, 7}, {512, 512, 1, 1});
     }},
};

absl::StatusOr<Measurement> Convolution(const Setting& setting, ConvolutionKind kind,
                                        const NamedShape& named) {
  const Conv2dShape shape =
      setting.quick ? Conv2dShape::For({1, 2, 8, 8}, {2, 2, 3, 3}) : named.shape(kBatch);
  ACCELD_ASSIGN_OR_RETURN(const Card card, Card::Open());
  ComputeBackend& backend = *card.backend;
  Direct& direct = *card.direct;
  const std::int64_t input_count = ElementCount(shape.input);
  const std::int64_t filter_count = ElementCount(shape.filter);
  const std::int64_t output_count = ElementCount(shape.output);

  ACCELD_ASSIGN_OR_RETURN(const Address input, RandomArray<float>(backend, input_count));
  ACCELD_ASSIGN_OR_RETURN(const Address filter, RandomArray<float>(backend, filter_count));
  ACCELD_ASSIGN_OR_RETURN(const Address output, RandomArray<float>(backend, output_count));
  cuda::ConvolutionCall call;
  ACCELD_ASSIGN_OR_RETURN(call.input, RandomArray<float>(direct, input_count));
  ACCELD_ASSIGN_OR_RETURN(call.filter, RandomArray<float>(direct, filter_count));
  ACCELD_ASSIGN_OR_RETURN(call.output, RandomArray<float>(direct, output_count));
  ACCELD_ASSIGN_OR_RETURN(const auto convolve,
                          direct.MakeConvolution({.kind = kind, .shape = shape}, call));

  const auto submit = [&]() -> absl::Status {
    switch (kind) {
      case ConvolutionKind::kForward:
        return backend.Conv2dForward(
            {.shape = shape, .input = input, .filter = filter, .output = output});
      case ConvolutionKind::kBackwardData:
        return backend.Conv2dBackwardData(
            {.shape = shape, .filter = filter, .output_gradient = output, .input_gradient = input});
      case ConvolutionKind::kBackwardFilter:
        break;
    }
    return backend.Conv2dBackwardFilter(
        {.shape = shape, .input = input, .output_gradient = output, .filter_gradient = filter});
  };
  const double work = shape.Flops() * 1e-12;
  return CompareRates(setting, OnBackend(backend, work, submit), OnDirect(direct, work, convolve));
}

}  // namespace

std::vector<Figure> CardConvolutionFigures() {
  std::vector<Figure> figures;
  for (const auto& [direction, kind] : {std::pair{"fwd", ConvolutionKind::kForward},
                                        {"bwd_data", ConvolutionKind::kBackwardData},
                                        {"bwd_filter", ConvolutionKind::kBackwardFilter}}) {
    for (const NamedShape& shape : kShapes) {
      figures.push_back({fmt::format("conv_{}_{}_b{}_vs_cudnn", direction, shape.name, kBatch),
                         "ratio", "TFLOP/s", [kind = kind, &shape](const Setting& setting) {
                           return Convolution(setting, kind, shape);
                         }});
    }
  }
  return figures;
}

}  // namespace acceld::bench
