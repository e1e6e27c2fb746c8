#include "tests/bench/cuda/direct_convolution.h"

#include <array>
#include <cstdint>

#include "backends/cuda/real/convolution.h"

namespace acceld::bench {
namespace {

using cuda::ConvolutionKind;

using Sizes = std::array<int, 4>;

Sizes ToInts(const std::array<std::int64_t, 4>& sizes) {
  return {static_cast<int>(sizes[0]), static_cast<int>(sizes[1]), static_cast<int>(sizes[2]),
          static_cast<int>(sizes[3])};
}

// More than any of the three kinds has.
constexpr int kMaxOffers = 16;

}  // namespace

DirectConvolution::~DirectConvolution() {
  if (convolution_ != nullptr) (void)cudnn_.destroy_convolution(convolution_);
  if (filter_ != nullptr) (void)cudnn_.destroy_filter(filter_);
  if (output_ != nullptr) (void)cudnn_.destroy_tensor(output_);
  if (input_ != nullptr) (void)cudnn_.destroy_tensor(input_);
}

cuda::DriverStatus DirectConvolution::Init() {
  cuda::DriverStatus described = cudnn_.ToStatus("cudnnSetConvolution2dDescriptor", Describe());
  if (!described.ok()) return described;
  return cudnn_.ToStatus("cudnnGetConvolutionAlgorithm_v7", Choose());
}

cudnnStatus_t DirectConvolution::Describe() {
  const auto tensor = [this](cudnnTensorDescriptor_t& descriptor, const Sizes& sizes) {
    const cudnnStatus_t created = cudnn_.create_tensor(&descriptor);
    if (created != CUDNN_STATUS_SUCCESS) return created;
    return cudnn_.set_tensor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, sizes[0], sizes[1],
                             sizes[2], sizes[3]);
  };
  const Conv2dShape& shape = key_.shape;
  const Sizes filter = ToInts(shape.filter);
  cudnnStatus_t status = tensor(input_, ToInts(shape.input));
  if (status == CUDNN_STATUS_SUCCESS) status = tensor(output_, ToInts(shape.output));
  if (status == CUDNN_STATUS_SUCCESS) status = cudnn_.create_filter(&filter_);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnn_.set_filter(filter_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, filter[0], filter[1],
                               filter[2], filter[3]);
  }
  if (status == CUDNN_STATUS_SUCCESS) status = cudnn_.create_convolution(&convolution_);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnn_.set_convolution(
        convolution_, static_cast<int>(shape.padding[0]), static_cast<int>(shape.padding[1]),
        static_cast<int>(shape.stride[0]), static_cast<int>(shape.stride[1]), /*dilation_h=*/1,
        /*dilation_w=*/1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  }
  // No TF32.
  if (status == CUDNN_STATUS_SUCCESS) status = cudnn_.set_math_type(convolution_, CUDNN_FMA_MATH);
  return status;
}

template <typename Offer>
cudnnStatus_t DirectConvolution::Take(cudnnStatus_t asked, const Offer* offers, int count) {
  if (asked != CUDNN_STATUS_SUCCESS) return asked;
  for (const Offer* offer = offers; offer != offers + count; ++offer) {
    if (offer->status != CUDNN_STATUS_SUCCESS) continue;
    const bool allowed =
        offer->determinism == CUDNN_DETERMINISTIC && cuda::KeepsNeighboursApart(offer->algo);
    if (!allowed && !any_algorithm_) continue;
    algorithm_ = static_cast<int>(offer->algo);
    workspace_bytes_ = offer->memory;
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t DirectConvolution::Choose() {
  int count = 0;
  switch (key_.kind) {
    case ConvolutionKind::kForward: {
      cudnnConvolutionFwdAlgoPerf_t offers[kMaxOffers];
      const cudnnStatus_t asked = cudnn_.forward_algorithms(handle_, input_, filter_, convolution_,
                                                            output_, kMaxOffers, &count, offers);
      return Take(asked, offers, count);
    }
    case ConvolutionKind::kBackwardData: {
      cudnnConvolutionBwdDataAlgoPerf_t offers[kMaxOffers];
      const cudnnStatus_t asked = cudnn_.backward_data_algorithms(
          handle_, filter_, output_, convolution_, input_, kMaxOffers, &count, offers);
      return Take(asked, offers, count);
    }
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  cudnnConvolutionBwdFilterAlgoPerf_t offers[kMaxOffers];
  const cudnnStatus_t asked = cudnn_.backward_filter_algorithms(
      handle_, input_, output_, convolution_, filter_, kMaxOffers, &count, offers);
  return Take(asked, offers, count);
}

cuda::DriverStatus DirectConvolution::Run(const cuda::ConvolutionCall& call) const {
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  switch (key_.kind) {
    case ConvolutionKind::kForward:
      return cudnn_.ToStatus(
          "cudnnConvolutionForward",
          cudnn_.forward(handle_, &kOne, input_, call.input, filter_, call.filter, convolution_,
                         static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), call.workspace,
                         workspace_bytes_, &kZero, output_, call.output));
    case ConvolutionKind::kBackwardData:
      return cudnn_.ToStatus(
          "cudnnConvolutionBackwardData",
          cudnn_.backward_data(handle_, &kOne, filter_, call.filter, output_, call.output,
                               convolution_, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                               call.workspace, workspace_bytes_, &kZero, input_, call.input));
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  return cudnn_.ToStatus(
      "cudnnConvolutionBackwardFilter",
      cudnn_.backward_filter(handle_, &kOne, input_, call.input, output_, call.output, convolution_,
                             static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                             call.workspace, workspace_bytes_, &kZero, filter_, call.filter));
}

}  // namespace acceld::bench
