#include "backends/cuda/real/convolution.h"

#include <array>

namespace acceld::cuda {
namespace {

// What has a large workspace is not much faster, and would keep clients' memory from them.
constexpr std::size_t kMaxWorkspaceBytes = std::size_t{1} << 30;

int ToInt(std::int64_t size) { return static_cast<int>(size); }

// Appends what may be used of the first `count` of `results`.
template <typename Results, typename Offers>
void Keep(const Results& results, int count, Offers& offers) {
  for (int i = 0; i < count; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.status != CUDNN_STATUS_SUCCESS || result.determinism != CUDNN_DETERMINISTIC ||
        !KeepsNeighboursApart(result.algo)) {
      continue;
    }
    offers.algorithms[static_cast<std::size_t>(offers.count++)] = static_cast<int>(result.algo);
  }
}

// Which gives the same bits every time, keeps neighbours apart and takes any shape.
int PlainAlgorithm(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::kForward:
      return CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    case ConvolutionKind::kBackwardData:
      return CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  return CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
}

}  // namespace

bool KeepsNeighboursApart(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}

bool KeepsNeighboursApart(cudnnConvolutionBwdDataAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
}

bool KeepsNeighboursApart(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

Convolution::~Convolution() {
  if (convolution_ != nullptr) (void)functions_.destroy_convolution(convolution_);
  if (filter_ != nullptr) (void)functions_.destroy_filter(filter_);
  if (output_ != nullptr) (void)functions_.destroy_tensor(output_);
  if (input_ != nullptr) (void)functions_.destroy_tensor(input_);
}

DriverStatus Convolution::Describe() {
  const auto [n, c, h, w] = key_.shape.input;
  const auto [k, filter_c, filter_h, filter_w] = key_.shape.filter;
  const auto [out_n, out_k, out_h, out_w] = key_.shape.output;
  const std::array<std::int64_t, 2>& padding = key_.shape.padding;
  const std::array<std::int64_t, 2>& stride = key_.shape.stride;
  DriverStatus status;
  const auto then = [&](const char* call, cudnnStatus_t result) {
    status = functions_.ToStatus(call, result);
    return status.ok();
  };
  // Until one fails.
  (void)(then("cudnnCreateTensorDescriptor", functions_.create_tensor(&input_)) &&
         then("cudnnSetTensor4dDescriptor",
              functions_.set_tensor(input_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, ToInt(n), ToInt(c),
                                    ToInt(h), ToInt(w))) &&
         then("cudnnCreateTensorDescriptor", functions_.create_tensor(&output_)) &&
         then("cudnnSetTensor4dDescriptor",
              functions_.set_tensor(output_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, ToInt(out_n),
                                    ToInt(out_k), ToInt(out_h), ToInt(out_w))) &&
         then("cudnnCreateFilterDescriptor", functions_.create_filter(&filter_)) &&
         then("cudnnSetFilter4dDescriptor",
              functions_.set_filter(filter_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, ToInt(k),
                                    ToInt(filter_c), ToInt(filter_h), ToInt(filter_w))) &&
         then("cudnnCreateConvolutionDescriptor", functions_.create_convolution(&convolution_)) &&
         then("cudnnSetConvolution2dDescriptor",
              functions_.set_convolution(convolution_, ToInt(padding[0]), ToInt(padding[1]),
                                         ToInt(stride[0]), ToInt(stride[1]), /*dilation_h=*/1,
                                         /*dilation_w=*/1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT)) &&
         // No TF32.
         then("cudnnSetConvolutionMathType",
              functions_.set_math_type(convolution_, CUDNN_FMA_MATH)));
  return status;
}

DriverStatus Convolution::Choose(cudnnHandle_t handle) {
  Offers offers;
  DriverStatus found = FindOffers(handle, offers);
  if (!found.ok() && found.code != DriverCode::kUnsupported) return found;
  for (int i = 0; i < offers.count; ++i) {
    if (Take(handle, offers.algorithms[static_cast<std::size_t>(i)])) return {};
  }
  // The heuristics need not name all that there is.
  if (Take(handle, PlainAlgorithm(key_.kind))) return {};
  return {.code = DriverCode::kUnsupported,
          .call = "cudnnGetConvolutionAlgorithm",
          .detail = "cuDNN has no deterministic algorithm for this convolution"};
}

bool Convolution::Take(cudnnHandle_t handle, int algorithm) {
  std::size_t bytes = 0;
  if (WorkspaceOf(handle, algorithm, bytes) != CUDNN_STATUS_SUCCESS) return false;
  if (bytes > kMaxWorkspaceBytes) return false;
  algorithm_ = algorithm;
  workspace_bytes_ = bytes;
  return true;
}

DriverStatus Convolution::FindOffers(cudnnHandle_t handle, Offers& offers) const {
  int count = 0;
  switch (key_.kind) {
    case ConvolutionKind::kForward: {
      std::array<cudnnConvolutionFwdAlgoPerf_t, kMaxAlgorithms> results;
      const cudnnStatus_t status = functions_.forward_algorithms(
          handle, input_, filter_, convolution_, output_, kMaxAlgorithms, &count, results.data());
      Keep(results, count, offers);
      return functions_.ToStatus("cudnnGetConvolutionForwardAlgorithm_v7", status);
    }
    case ConvolutionKind::kBackwardData: {
      std::array<cudnnConvolutionBwdDataAlgoPerf_t, kMaxAlgorithms> results;
      const cudnnStatus_t status = functions_.backward_data_algorithms(
          handle, filter_, output_, convolution_, input_, kMaxAlgorithms, &count, results.data());
      Keep(results, count, offers);
      return functions_.ToStatus("cudnnGetConvolutionBackwardDataAlgorithm_v7", status);
    }
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, kMaxAlgorithms> results;
  const cudnnStatus_t status = functions_.backward_filter_algorithms(
      handle, input_, output_, convolution_, filter_, kMaxAlgorithms, &count, results.data());
  Keep(results, count, offers);
  return functions_.ToStatus("cudnnGetConvolutionBackwardFilterAlgorithm_v7", status);
}

cudnnStatus_t Convolution::WorkspaceOf(cudnnHandle_t handle, int algorithm,
                                       std::size_t& bytes) const {
  switch (key_.kind) {
    case ConvolutionKind::kForward:
      return functions_.forward_workspace(handle, input_, filter_, convolution_, output_,
                                          static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                                          &bytes);
    case ConvolutionKind::kBackwardData:
      return functions_.backward_data_workspace(
          handle, filter_, output_, convolution_, input_,
          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), &bytes);
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  return functions_.backward_filter_workspace(
      handle, input_, output_, convolution_, filter_,
      static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), &bytes);
}

DriverStatus Convolution::Run(cudnnHandle_t handle, const ConvolutionCall& call) const {
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  switch (key_.kind) {
    case ConvolutionKind::kForward:
      return functions_.ToStatus(
          "cudnnConvolutionForward",
          functions_.forward(handle, &kOne, input_, call.input, filter_, call.filter, convolution_,
                             static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), call.workspace,
                             workspace_bytes_, &kZero, output_, call.output));
    case ConvolutionKind::kBackwardData:
      return functions_.ToStatus(
          "cudnnConvolutionBackwardData",
          functions_.backward_data(handle, &kOne, filter_, call.filter, output_, call.output,
                                   convolution_,
                                   static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                                   call.workspace, workspace_bytes_, &kZero, input_, call.input));
    case ConvolutionKind::kBackwardFilter:
      break;
  }
  return functions_.ToStatus(
      "cudnnConvolutionBackwardFilter",
      functions_.backward_filter(handle, &kOne, input_, call.input, output_, call.output,
                                 convolution_,
                                 static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                                 call.workspace, workspace_bytes_, &kZero, filter_, call.filter));
}

}  // namespace acceld::cuda
