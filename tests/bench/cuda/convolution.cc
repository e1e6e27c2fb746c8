// Convolutions of plain NCHW arrays on the card, in TFLOP/s, against cuDNN with the algorithm that
// its heuristics put first of those that acceld may take: that give the same bits every time, and
// compute each result from what the formula names and nothing else
// (backends/cuda/real/convolution.h). For 3x3 also against whatever they put first, which may be
// Winograd's; that is no target.

#include <string>
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
  // Whether algorithms that acceld does not take may be quicker.
  bool has_others = false;
};

constexpr NamedShape kShapes[] = {
    {"64x56x56_3x3",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1});
     },
     true},
    {"256x14x14_3x3",
     [](std::int64_t batch) {
       return Conv2dShape::For({batch, 256, 14, 14}, {256, 256, 3, 3}, {1, 1}, {1, 1});
     },
     true},
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
                                        const NamedShape& named, Direct::Algorithms algorithms) {
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
                          direct.MakeConvolution({.kind = kind, .shape = shape}, algorithms, call));

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
      const auto measure = [kind = kind, &shape](Direct::Algorithms algorithms) {
        return [=, &shape](const Setting& setting) {
          return Convolution(setting, kind, shape, algorithms);
        };
      };
      const std::string name = fmt::format("conv_{}_{}_b{}", direction, shape.name, kBatch);
      figures.push_back(
          {name + "_vs_cudnn", "ratio", "TFLOP/s", measure(Direct::Algorithms::kAllowed)});
      if (!shape.has_others) continue;
      figures.push_back({"unrestricted_" + name + "_vs_cudnn", "ratio", "TFLOP/s",
                         measure(Direct::Algorithms::kAny)});
    }
  }
  return figures;
}

}  // namespace acceld::bench
