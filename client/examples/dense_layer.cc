#include "client/examples/dense_layer.h"

#include "backends/core/status.h"

namespace acceld::examples {

DenseLayer::Indices DenseLayer::AddTo(ParameterLayout& layout, const Sizes& sizes) {
  return {.weights = layout.AddWeights(sizes.features_out * sizes.features_in, sizes.features_in),
          .bias = layout.AddBiases(sizes.features_out)};
}

absl::StatusOr<DenseLayer> DenseLayer::Create(ComputeBackend& backend, const Constants& constants,
                                              const Sizes& sizes, const Parameters& parameters,
                                              const Indices& indices, std::int64_t max_rows) {
  DenseLayer layer(backend, constants, sizes);
  layer.weights_ = parameters.At(indices.weights);
  layer.bias_ = parameters.At(indices.bias);
  const std::int64_t elements = max_rows * sizes.features_out;
  ACCELD_ASSIGN_OR_RETURN(layer.output_, Buffer::Zeros(backend, elements));
  ACCELD_ASSIGN_OR_RETURN(layer.output_gradient_, Buffer::Zeros(backend, elements));
  return layer;
}

absl::Status DenseLayer::Forward(Address input, std::int64_t rows) {
  // output [out, rows] = weights [out, in] * input [in, rows]
  ACCELD_RETURN_IF_ERROR(backend_->Gemm({.m = sizes_.features_out,
                                         .n = rows,
                                         .k = sizes_.features_in,
                                         .a = weights_.values,
                                         .lda = sizes_.features_out,
                                         .b = input,
                                         .ldb = sizes_.features_in,
                                         .c = output(),
                                         .ldc = sizes_.features_out}));
  // output [out, rows] += bias [out, 1] * ones [1, rows]
  return backend_->Gemm({.m = sizes_.features_out,
                         .n = rows,
                         .k = 1,
                         .a = bias_.values,
                         .lda = sizes_.features_out,
                         .b = constants_->ones.address(),
                         .ldb = 1,
                         .beta = 1,
                         .c = output(),
                         .ldc = sizes_.features_out});
}

absl::Status DenseLayer::Backward(Address input, std::int64_t rows, Address input_gradient) {
  // weights' gradient [out, in] = output_gradient [out, rows] * input^T [rows, in]
  ACCELD_RETURN_IF_ERROR(backend_->Gemm({.transpose_b = Transpose::kTranspose,
                                         .m = sizes_.features_out,
                                         .n = sizes_.features_in,
                                         .k = rows,
                                         .a = output_gradient(),
                                         .lda = sizes_.features_out,
                                         .b = input,
                                         .ldb = sizes_.features_in,
                                         .c = weights_.gradient,
                                         .ldc = sizes_.features_out}));
  ACCELD_RETURN_IF_ERROR(backend_->Reduce({.op = ReduceOp::kSum,
                                           .shape = {rows, sizes_.features_out},
                                           .axis = 0,
                                           .input = output_gradient(),
                                           .output = bias_.gradient}));
  // input_gradient [in, rows] = weights^T [in, out] * output_gradient [out, rows]
  return backend_->Gemm({.transpose_a = Transpose::kTranspose,
                         .m = sizes_.features_in,
                         .n = rows,
                         .k = sizes_.features_out,
                         .a = weights_.values,
                         .lda = sizes_.features_out,
                         .b = output_gradient(),
                         .ldb = sizes_.features_out,
                         .c = input_gradient,
                         .ldc = sizes_.features_in});
}

}  // namespace acceld::examples
