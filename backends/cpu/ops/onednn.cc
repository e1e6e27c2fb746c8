#include "backends/cpu/ops/onednn.h"

#include <fmt/format.h>

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>

#include "backends/core/status.h"

namespace acceld::cpu {
namespace {

using dnnl::memory;

// Beyond these oneDNN's 32-bit positions could overflow, and its kernels are not tested.
constexpr std::int64_t kMaxExtent = 1 << 16;
constexpr std::int64_t kMaxStride = 1 << 10;
// Of one image and of the filter; their bytes then fit into 31 bits.
constexpr std::int64_t kMaxElements = 1 << 28;
// Of a group of images: two such arrays and the filter's fit into the kept workspace.
constexpr std::int64_t kGroupElements = 3 << 19;

const dnnl::engine& Engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::dims Dims(const std::array<std::int64_t, 4>& sizes) { return {sizes.begin(), sizes.end()}; }

memory::dims Dims(const std::array<std::int64_t, 2>& sizes) { return {sizes.begin(), sizes.end()}; }

memory::desc Plain(const std::array<std::int64_t, 4>& sizes) {
  return {Dims(sizes), memory::data_type::f32, memory::format_tag::abcd};
}

memory::desc AnyLayout(const std::array<std::int64_t, 4>& sizes) {
  return {Dims(sizes), memory::data_type::f32, memory::format_tag::any};
}

// Scratch memory comes from the op's workspace, where it is counted.
dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::convolution_forward::primitive_desc ForwardDescription(const Conv2dShape& shape,
                                                             dnnl::prop_kind kind) {
  const dnnl::convolution_forward::desc description(
      kind, dnnl::algorithm::convolution_direct, AnyLayout(shape.input), AnyLayout(shape.filter),
      AnyLayout(shape.output), Dims(shape.stride), Dims(shape.padding), Dims(shape.padding));
  return {description, Attributes(), Engine()};
}

// Runs one primitive on plain arrays.
class Execution {
 public:
  explicit Execution(CpuContext& context) : context_(context), stream_(Engine()) {}

  absl::Status AddInput(int argument, const float* data, const std::array<std::int64_t, 4>& sizes,
                        const memory::desc& layout) {
    memory plain(Plain(sizes), Engine(), const_cast<float*>(data));
    ACCELD_ASSIGN_OR_RETURN(memory laid_out, InLayout(plain, layout));
    if (laid_out != plain) ACCELD_RETURN_IF_ERROR(Reorder(plain, laid_out));
    arguments_.emplace(argument, std::move(laid_out));
    return absl::OkStatus();
  }

  absl::Status SetOutput(int argument, float* data, const std::array<std::int64_t, 4>& sizes,
                         const memory::desc& layout) {
    plain_output_ = memory(Plain(sizes), Engine(), data);
    ACCELD_ASSIGN_OR_RETURN(output_, InLayout(plain_output_, layout));
    arguments_.emplace(argument, output_);
    return absl::OkStatus();
  }

  absl::Status Run(const dnnl::primitive& primitive, const memory::desc& scratchpad) {
    ACCELD_ASSIGN_OR_RETURN(memory scratch, InWorkspace(scratchpad));
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, std::move(scratch));
    primitive.execute(stream_, arguments_);
    if (output_ != plain_output_) ACCELD_RETURN_IF_ERROR(Reorder(output_, plain_output_));
    stream_.wait();
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<memory> InWorkspace(const memory::desc& layout) {
    ACCELD_ASSIGN_OR_RETURN(std::byte* const data, context_.Workspace(layout.get_size()));
    return memory(layout, Engine(), data);
  }

  // `plain` itself where that is the layout, else new memory.
  absl::StatusOr<memory> InLayout(const memory& plain, const memory::desc& layout) {
    if (plain.get_desc() == layout) return plain;
    return InWorkspace(layout);
  }

  absl::Status Reorder(memory& from, memory& to) {
    const dnnl::reorder::primitive_desc description(from, to, Attributes());
    ACCELD_ASSIGN_OR_RETURN(memory scratch, InWorkspace(description.scratchpad_desc()));
    dnnl::reorder(description)
        .execute(stream_,
                 {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratch}});
    return absl::OkStatus();
  }

  CpuContext& context_;
  dnnl::stream stream_;
  std::unordered_map<int, memory> arguments_;
  memory plain_output_;
  memory output_;
};

// Calls `run`, whose exceptions become errors.
template <typename Run>
absl::Status Guarded(Run run) {
  try {
    return run();
  } catch (const dnnl::error& error) {
    switch (error.status) {
      case dnnl_unimplemented:
        return UnsupportedError("oneDNN has no kernel for this convolution.");
      case dnnl_out_of_memory:
        return OutOfMemory("The host has no memory left for oneDNN's convolution.");
      default:
        return DeviceError(fmt::format("oneDNN's convolution failed with status {}: {}.",
                                       static_cast<int>(error.status), error.what()));
    }
  }
}

}  // namespace

std::int64_t OneDnnImages(const Conv2dShape& shape) {
  const auto padded_to_16 = [](std::int64_t channels) { return (channels + 15) / 16 * 16; };
  for (std::size_t i = 0; i < 2; ++i) {
    if (shape.input[2 + i] > kMaxExtent || shape.output[2 + i] > kMaxExtent ||
        shape.filter[2 + i] > kMaxExtent || shape.stride[i] > kMaxStride ||
        shape.padding[i] >= shape.filter[2 + i]) {
      return 0;
    }
  }
  const std::int64_t channels = padded_to_16(shape.input[1]);
  const std::int64_t filters = padded_to_16(shape.filter[0]);
  if (channels > kMaxExtent || filters > kMaxExtent) return 0;
  // By the limits above no product of three overflows.
  const std::int64_t filter_plane = shape.filter[2] * shape.filter[3];
  if (filter_plane > kMaxElements || channels * filters > kMaxElements / filter_plane) return 0;
  const std::int64_t image_elements = std::max(channels * shape.input[2] * shape.input[3],
                                               filters * shape.output[2] * shape.output[3]);
  if (image_elements > kMaxElements) return 0;
  const std::int64_t most = std::max<std::int64_t>(1, kGroupElements / image_elements);
  // Groups of equal size, but for the last.
  const std::int64_t groups = (shape.input[0] + most - 1) / most;
  return (shape.input[0] + groups - 1) / groups;
}

absl::Status OneDnnForward(const Conv2dShape& shape, const float* input, const float* filter,
                           float* output, CpuContext& context) {
  return Guarded([&]() -> absl::Status {
    const auto description = ForwardDescription(shape, dnnl::prop_kind::forward_inference);
    Execution execution(context);
    ACCELD_RETURN_IF_ERROR(
        execution.AddInput(DNNL_ARG_SRC, input, shape.input, description.src_desc()));
    ACCELD_RETURN_IF_ERROR(
        execution.AddInput(DNNL_ARG_WEIGHTS, filter, shape.filter, description.weights_desc()));
    ACCELD_RETURN_IF_ERROR(
        execution.SetOutput(DNNL_ARG_DST, output, shape.output, description.dst_desc()));
    return execution.Run(dnnl::convolution_forward(description), description.scratchpad_desc());
  });
}

absl::Status OneDnnBackwardData(const Conv2dShape& shape, const float* filter,
                                const float* output_gradient, float* input_gradient,
                                CpuContext& context) {
  return Guarded([&]() -> absl::Status {
    const dnnl::convolution_backward_data::primitive_desc description(
        {dnnl::algorithm::convolution_direct, AnyLayout(shape.input), AnyLayout(shape.filter),
         AnyLayout(shape.output), Dims(shape.stride), Dims(shape.padding), Dims(shape.padding)},
        Attributes(), Engine(), ForwardDescription(shape, dnnl::prop_kind::forward_training));
    Execution execution(context);
    ACCELD_RETURN_IF_ERROR(execution.AddInput(DNNL_ARG_DIFF_DST, output_gradient, shape.output,
                                              description.diff_dst_desc()));
    ACCELD_RETURN_IF_ERROR(
        execution.AddInput(DNNL_ARG_WEIGHTS, filter, shape.filter, description.weights_desc()));
    ACCELD_RETURN_IF_ERROR(execution.SetOutput(DNNL_ARG_DIFF_SRC, input_gradient, shape.input,
                                               description.diff_src_desc()));
    return execution.Run(dnnl::convolution_backward_data(description),
                         description.scratchpad_desc());
  });
}

absl::Status OneDnnBackwardFilter(const Conv2dShape& shape, const float* input,
                                  const float* output_gradient, float* filter_gradient,
                                  CpuContext& context) {
  return Guarded([&]() -> absl::Status {
    const dnnl::convolution_backward_weights::primitive_desc description(
        {dnnl::algorithm::convolution_direct, AnyLayout(shape.input), AnyLayout(shape.filter),
         AnyLayout(shape.output), Dims(shape.stride), Dims(shape.padding), Dims(shape.padding)},
        Attributes(), Engine(), ForwardDescription(shape, dnnl::prop_kind::forward_training));
    Execution execution(context);
    ACCELD_RETURN_IF_ERROR(
        execution.AddInput(DNNL_ARG_SRC, input, shape.input, description.src_desc()));
    ACCELD_RETURN_IF_ERROR(execution.AddInput(DNNL_ARG_DIFF_DST, output_gradient, shape.output,
                                              description.diff_dst_desc()));
    ACCELD_RETURN_IF_ERROR(execution.SetOutput(DNNL_ARG_DIFF_WEIGHTS, filter_gradient, shape.filter,
                                               description.diff_weights_desc()));
    return execution.Run(dnnl::convolution_backward_weights(description),
                         description.scratchpad_desc());
  });
}

}  // namespace acceld::cpu
