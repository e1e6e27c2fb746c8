#include "backends/cpu/ops/onednn.h"

#include <algorithm>
#include <string_view>

#include "backends/core/status.h"
#include "backends/cpu/ops/filter_blocks.h"
#include "backends/cpu/ops/onednn_engine.h"
#include "backends/cpu/ops/onednn_errors.h"
#include "backends/cpu/ops/onednn_scratchpad.h"
#include "backends/memory/alignment.h"

namespace acceld::cpu {
namespace {

using dnnl::memory;
using Format = memory::format_tag;
using Sizes = std::array<std::int64_t, 4>;

// Beyond these oneDNN's 32-bit positions could overflow, and its kernels are not tested.
constexpr std::int64_t kMaxExtent = 1 << 16;
constexpr std::int64_t kMaxStride = 1 << 10;
// Of one image and of the filter; their bytes then fit into 31 bits.
constexpr std::int64_t kMaxElements = 1 << 28;

memory::desc InFormat(const Sizes& sizes, Format format) {
  return {{sizes.begin(), sizes.end()}, memory::data_type::f32, format};
}

bool HasWholeBlocks(const Sizes& filter) {
  return filter[0] % kFilterBlock == 0 && filter[1] % kFilterBlock == 0;
}

constexpr std::string_view kConvolution = "convolution";

}  // namespace

bool OneDnnTakes(const Conv2dShape& shape) {
  const auto padded_to_16 = [](std::int64_t channels) { return (channels + 15) / 16 * 16; };
  for (std::size_t i = 0; i < 2; ++i) {
    if (shape.input[2 + i] > kMaxExtent || shape.output[2 + i] > kMaxExtent ||
        shape.filter[2 + i] > kMaxExtent || shape.stride[i] > kMaxStride ||
        shape.padding[i] >= shape.filter[2 + i]) {
      return false;
    }
  }
  const std::int64_t channels = padded_to_16(shape.input[1]);
  const std::int64_t filters = padded_to_16(shape.filter[0]);
  if (channels > kMaxExtent || filters > kMaxExtent) return false;
  // By the limits above no product of three overflows.
  const std::int64_t filter_plane = shape.filter[2] * shape.filter[3];
  return filter_plane <= kMaxElements && channels * filters <= kMaxElements / filter_plane &&
         channels * shape.input[2] * shape.input[3] <= kMaxElements &&
         filters * shape.output[2] * shape.output[3] <= kMaxElements;
}

// What oneDNN would do for a convolution.
struct OneDnnConvolution::Parts {
  // None where oneDNN has none but its reference code.
  dnnl::primitive convolution{};
  memory::desc input{};
  memory::desc filter{};
  memory::desc output{};
  memory::desc scratchpad{};
};

OneDnnConvolution::Parts OneDnnConvolution::MakeParts(const OneDnnKey& key, Format input_format,
                                                      Format output_format) {
  const memory::desc input = InFormat(key.shape.input, input_format);
  const memory::desc filter = InFormat(key.shape.filter, Format::any);
  const memory::desc output = InFormat(key.shape.output, output_format);
  const memory::dims stride(key.shape.stride.begin(), key.shape.stride.end());
  const memory::dims padding(key.shape.padding.begin(), key.shape.padding.end());
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const auto is_good = [](const auto& description) {
    return description &&
           std::string_view(description.impl_info_str()).find("ref") == std::string_view::npos;
  };
  const dnnl::convolution_forward::primitive_desc forward(
      {key.direction == Conv2dDirection::kForward ? dnnl::prop_kind::forward_inference
                                                  : dnnl::prop_kind::forward_training,
       kDirect, input, filter, output, stride, padding, padding},
      WithScratchpadArgument(), Engine(), /*allow_empty=*/true);
  if (!forward) return {};
  switch (key.direction) {
    case Conv2dDirection::kForward:
      if (!is_good(forward)) break;
      return {dnnl::convolution_forward(forward), forward.src_desc(), forward.weights_desc(),
              forward.dst_desc(), forward.scratchpad_desc()};
    case Conv2dDirection::kBackwardData: {
      const dnnl::convolution_backward_data::primitive_desc backward(
          {kDirect, input, filter, output, stride, padding, padding}, WithScratchpadArgument(),
          Engine(), forward, /*allow_empty=*/true);
      if (!is_good(backward)) break;
      return {dnnl::convolution_backward_data(backward), backward.diff_src_desc(),
              backward.weights_desc(), backward.diff_dst_desc(), backward.scratchpad_desc()};
    }
    case Conv2dDirection::kBackwardFilter: {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          {kDirect, input, filter, output, stride, padding, padding}, WithScratchpadArgument(),
          Engine(), forward, /*allow_empty=*/true);
      if (!is_good(backward)) break;
      return {dnnl::convolution_backward_weights(backward), backward.src_desc(),
              backward.diff_weights_desc(), backward.diff_dst_desc(), backward.scratchpad_desc()};
    }
  }
  return {};
}

absl::StatusOr<std::unique_ptr<OneDnnConvolution>> OneDnnConvolution::Create(const OneDnnKey& key) {
  return WithOneDnnErrors(
      kConvolution, [&]() -> absl::StatusOr<std::unique_ptr<OneDnnConvolution>> {
        const bool blocked = key.layout == OneDnnLayout::kBlocked;
        const Format format = blocked ? Format::aBcd16b : Format::acdb;
        const bool is_image = blocked && key.shape.input[1] <= kMaxImageChannels;
        Parts parts = MakeParts(key, is_image ? Format::abcd : format, format);
        if (!parts.convolution) parts = MakeParts(key, Format::any, Format::any);
        if (!parts.convolution) {
          return UnsupportedError("oneDNN has no fast kernel for this convolution.");
        }
        return std::unique_ptr<OneDnnConvolution>(new OneDnnConvolution(key, std::move(parts)));
      });
}

OneDnnConvolution::OneDnnConvolution(const OneDnnKey& key, Parts parts)
    : key_(key), stream_(Engine()), convolution_(std::move(parts.convolution)) {
  input_.layout = std::move(parts.input);
  filter_.layout = std::move(parts.filter);
  output_.layout = std::move(parts.output);
  filter_.is_written = key.direction == Conv2dDirection::kBackwardFilter;
  input_.is_written = key.direction == Conv2dDirection::kBackwardData;
  output_.is_written = key.direction == Conv2dDirection::kForward;
  // The filter first, so that its place does not depend on the number of images.
  InitArray(filter_, key.shape.filter,
            filter_.is_written ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
  InitArray(input_, key.shape.input, input_.is_written ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC);
  InitArray(output_, key.shape.output, output_.is_written ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST);
  // Scratch memory comes from the op's workspace, where it is counted.
  scratchpad_ = memory(parts.scratchpad, Engine(), DNNL_MEMORY_NONE);
  scratchpad_offset_ = TakeWorkspace(parts.scratchpad.get_size());
  arguments_.emplace(DNNL_ARG_SCRATCHPAD, scratchpad_);
}

void OneDnnConvolution::InitArray(Array& array, const Sizes& sizes, int argument) {
  array.plain = memory(InFormat(sizes, Format::abcd), Engine(), DNNL_MEMORY_NONE);
  if (array.is_plain()) {
    arguments_.emplace(argument, array.plain);
    return;
  }
  array.laid_out = memory(array.layout, Engine(), DNNL_MEMORY_NONE);
  array.workspace_offset = TakeWorkspace(array.layout.get_size());
  arguments_.emplace(argument, array.laid_out);
  if (!array.is_written) {
    array.reorder = dnnl::reorder(array.plain, array.laid_out);
  } else if (&array != &filter_ || !HasWholeBlocks(sizes) ||
             array.layout != InFormat(sizes, Format::ABcd16b16a)) {
    array.reorder = dnnl::reorder(array.laid_out, array.plain);
  }
}

std::uint64_t OneDnnConvolution::TakeWorkspace(std::uint64_t bytes) {
  const std::uint64_t offset = workspace_bytes_;
  workspace_bytes_ += RoundUpToAlignment(bytes);
  return offset;
}

void OneDnnConvolution::Point(const Conv2d& convolution, std::byte* workspace) {
  // A memory object that is named anew has its padding cleared.
  const auto point = [this](memory& object, void* data) {
    if (object.get_data_handle() != data) object.set_data_handle(data, stream_);
  };
  const auto point_array = [&](Array& array, float* data) {
    point(array.plain, data);
    if (!array.is_plain()) point(array.laid_out, workspace + array.workspace_offset);
  };
  point_array(input_, convolution.input);
  point_array(filter_, convolution.filter);
  point_array(output_, convolution.output);
  point(scratchpad_, workspace + scratchpad_offset_);
}

void OneDnnConvolution::Reorder(Array& array) {
  if (array.is_plain()) return;
  if (!array.reorder) {
    const auto& sizes = key_.shape.filter;
    CopyFromBlocks(static_cast<const float*>(array.laid_out.get_data_handle()), sizes[0], sizes[1],
                   sizes[2] * sizes[3], static_cast<float*>(array.plain.get_data_handle()),
                   key_.threads);
    return;
  }
  memory& from = array.is_written ? array.laid_out : array.plain;
  memory& to = array.is_written ? array.plain : array.laid_out;
  array.reorder.execute(stream_, from, to);
}

absl::Status OneDnnConvolution::Run(const Conv2d& convolution, std::byte* workspace,
                                    bool filter_is_ready) {
  return WithOneDnnErrors(kConvolution, [&] {
    Point(convolution, workspace);
    if (!filter_.is_written && !filter_is_ready) Reorder(filter_);
    if (!input_.is_written) Reorder(input_);
    if (!output_.is_written) Reorder(output_);
    convolution_.execute(stream_, arguments_);
    for (Array* array : {&input_, &filter_, &output_}) {
      if (array->is_written) Reorder(*array);
    }
    stream_.wait();
    return absl::OkStatus();
  });
}

}  // namespace acceld::cpu
