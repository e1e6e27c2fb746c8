// Convolutions of plain NCHW arrays, against the fastest of oneDNN's layouts with its reorders
// counted: plain, its own choice, and channels last, each with the filter as it likes it best.
// Primitives and memory are made beforehand.

#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/parallel.h"
#include "fmt/format.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/figures.h"

namespace acceld::bench {
namespace {

using dnnl::memory;
using Layout = memory::format_tag;

enum class Direction { kForward, kBackwardData, kBackwardFilter };

// The arrays of a convolution, of which the direction says which is written.
struct Arrays {
  explicit Arrays(const Conv2dShape& shape)
      : input(RandomArray<float>(ElementCount(shape.input))),
        filter(RandomArray<float>(ElementCount(shape.filter))),
        output(RandomArray<float>(ElementCount(shape.output))) {}

  HostArray<float> input;
  HostArray<float> filter;
  HostArray<float> output;
};

memory::desc Description(const std::array<std::int64_t, 4>& sizes, Layout layout) {
  return {{sizes.begin(), sizes.end()}, memory::data_type::f32, layout};
}

// Channels of a block of aBcd16b.
constexpr std::int64_t kBlock = 16;

// The layouts that oneDNN has fast kernels for.
std::vector<Layout> Layouts(Direction direction, const Conv2dShape& shape) {
  std::vector<Layout> layouts = {Layout::abcd, Layout::any, Layout::acdb};
  if (direction != Direction::kBackwardData || shape.input[1] >= kBlock) {
    layouts.push_back(Layout::aBcd16b);
  }
  return layouts;
}

// One convolution by oneDNN in one layout.
class DirectConvolution {
 public:
  DirectConvolution(Direction direction, const Conv2dShape& shape, Layout layout, Arrays& arrays)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    // Images are read as they are by blocked kernels, too.
    const bool is_image = layout == Layout::aBcd16b && shape.input[1] < kBlock;
    const memory::desc input = Description(shape.input, is_image ? Layout::abcd : layout);
    const memory::desc filter = Description(shape.filter, Layout::any);
    const memory::desc output = Description(shape.output, layout);
    const memory::dims stride(shape.stride.begin(), shape.stride.end());
    const memory::dims padding(shape.padding.begin(), shape.padding.end());
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {direction == Direction::kForward ? dnnl::prop_kind::forward_inference
                                          : dnnl::prop_kind::forward_training,
         kDirect, input, filter, output, stride, padding, padding},
        engine_);
    if (direction == Direction::kForward) {
      convolution_ = dnnl::convolution_forward(forward);
      AddInput(DNNL_ARG_SRC, shape.input, arrays.input, forward.src_desc());
      AddInput(DNNL_ARG_WEIGHTS, shape.filter, arrays.filter, forward.weights_desc());
      SetOutput(DNNL_ARG_DST, shape.output, arrays.output, forward.dst_desc());
    } else if (direction == Direction::kBackwardData) {
      const dnnl::convolution_backward_data::primitive_desc backward(
          {kDirect, input, filter, output, stride, padding, padding}, engine_, forward);
      convolution_ = dnnl::convolution_backward_data(backward);
      AddInput(DNNL_ARG_DIFF_DST, shape.output, arrays.output, backward.diff_dst_desc());
      AddInput(DNNL_ARG_WEIGHTS, shape.filter, arrays.filter, backward.weights_desc());
      SetOutput(DNNL_ARG_DIFF_SRC, shape.input, arrays.input, backward.diff_src_desc());
    } else {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          {kDirect, input, filter, output, stride, padding, padding}, engine_, forward);
      convolution_ = dnnl::convolution_backward_weights(backward);
      AddInput(DNNL_ARG_SRC, shape.input, arrays.input, backward.src_desc());
      AddInput(DNNL_ARG_DIFF_DST, shape.output, arrays.output, backward.diff_dst_desc());
      SetOutput(DNNL_ARG_DIFF_WEIGHTS, shape.filter, arrays.filter, backward.diff_weights_desc());
    }
  }

  void Run() {
    for (Reorder& reorder : before_) Execute(reorder);
    convolution_.execute(stream_, arguments_);
    for (Reorder& reorder : after_) Execute(reorder);
    stream_.wait();
  }

 private:
  struct Reorder {
    dnnl::reorder primitive;
    memory from;
    memory to;
  };

  void Execute(Reorder& reorder) { reorder.primitive.execute(stream_, reorder.from, reorder.to); }

  memory Plain(const std::array<std::int64_t, 4>& sizes, HostArray<float>& array) {
    return memory(Description(sizes, Layout::abcd), engine_, array.data());
  }

  // New memory.
  memory InLayout(const memory::desc& layout) {
    auto& room = rooms_.emplace_back(layout.get_size() / sizeof(float));
    return memory(layout, engine_, room.data());
  }

  void AddInput(int argument, const std::array<std::int64_t, 4>& sizes, HostArray<float>& array,
                const memory::desc& layout) {
    const memory plain = Plain(sizes, array);
    arguments_[argument] = plain;
    if (plain.get_desc() == layout) return;
    const memory laid_out = arguments_[argument] = InLayout(layout);
    before_.push_back({dnnl::reorder(plain, laid_out), plain, laid_out});
  }

  void SetOutput(int argument, const std::array<std::int64_t, 4>& sizes, HostArray<float>& array,
                 const memory::desc& layout) {
    const memory plain = Plain(sizes, array);
    arguments_[argument] = plain;
    if (plain.get_desc() == layout) return;
    const memory laid_out = arguments_[argument] = InLayout(layout);
    after_.push_back({dnnl::reorder(laid_out, plain), laid_out, plain});
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive convolution_;
  std::unordered_map<int, memory> arguments_;
  std::vector<Reorder> before_;
  std::vector<Reorder> after_;
  std::vector<HostArray<float>> rooms_;
};

// A call of the backend; a direction's op with these addresses.
absl::StatusOr<Call> OnDevice(Direction direction, const Conv2dShape& shape, const Arrays& arrays,
                              InProcess& device) {
  ACCELD_ASSIGN_OR_RETURN(const Address input, device.Upload(arrays.input));
  ACCELD_ASSIGN_OR_RETURN(const Address filter, device.Upload(arrays.filter));
  ACCELD_ASSIGN_OR_RETURN(const Address output, device.Upload(arrays.output));
  ComputeBackend& backend = device.backend();
  switch (direction) {
    case Direction::kForward:
      return [=, &backend] {
        return backend.Conv2dForward(
            {.shape = shape, .input = input, .filter = filter, .output = output});
      };
    case Direction::kBackwardData:
      return [=, &backend] {
        return backend.Conv2dBackwardData(
            {.shape = shape, .filter = filter, .output_gradient = output, .input_gradient = input});
      };
    default:
      return [=, &backend] {
        return backend.Conv2dBackwardFilter(
            {.shape = shape, .input = input, .output_gradient = output, .filter_gradient = filter});
      };
  }
}

absl::StatusOr<Measurement> Convolution(const Setting& setting, int threads, Direction direction,
                                        const Conv2dShape& shape) {
  // Primitives are made for as many threads as run them.
  const ScopedOpenMpThreads openmp(threads);
  Arrays arrays(shape);
  ACCELD_ASSIGN_OR_RETURN(const auto device, InProcess::Create(threads));
  ACCELD_ASSIGN_OR_RETURN(const Call op, OnDevice(direction, shape, arrays, *device));
  std::vector<Call> direct;
  for (const Layout layout : Layouts(direction, shape)) {
    const auto convolution = std::make_shared<DirectConvolution>(direction, shape, layout, arrays);
    direct.push_back([convolution] {
      convolution->Run();
      return absl::OkStatus();
    });
  }
  return MeasureAgainst(setting, threads, *device, op, direct);
}

struct NamedShape {
  const char* name;
  Conv2dShape shape;
};

std::vector<NamedShape> Shapes(std::int64_t batch) {
  return {
      {"64x56x56_3x3", Conv2dShape::For({batch, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1})},
      {"256x14x14_3x3", Conv2dShape::For({batch, 256, 14, 14}, {256, 256, 3, 3}, {1, 1}, {1, 1})},
      {"3x224x224_7x7s2", Conv2dShape::For({batch, 3, 224, 224}, {64, 3, 7, 7}, {2, 2}, {3, 3})},
      {"512x7x7_1x1", Conv2dShape::For({batch, 512, 7, 7}, {512, 512, 1, 1})},
  };
}

}  // namespace

std::vector<Figure> ConvolutionFigures() {
  std::vector<Figure> figures;
  for (const auto& [name, direction] : {std::pair{"fwd", Direction::kForward},
                                        {"bwd_data", Direction::kBackwardData},
                                        {"bwd_filter", Direction::kBackwardFilter}}) {
    for (const int batch : {1, 8}) {
      for (const NamedShape& shape : Shapes(batch)) {
        const std::vector<Figure> both = AtOneAndTwoThreads(
            fmt::format("conv_{}_{}_b{}_vs_onednn", name, shape.name, batch),
            [direction = direction, shape = shape.shape](const Setting& setting, int threads) {
              return Convolution(setting, threads, direction, shape);
            });
        figures.insert(figures.end(), both.begin(), both.end());
      }
    }
  }
  return figures;
}

}  // namespace acceld::bench
