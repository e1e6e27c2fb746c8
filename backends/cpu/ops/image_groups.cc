#include "backends/cpu/ops/image_groups.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/lru_pool.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// The images of a group a thread, input and output together, where the filter is small: what is
// reordered for oneDNN and by it is then still in the second-level cache, or near.
constexpr std::int64_t kGroupBytes = 2 * 1024 * 1024;
// A filter is read from memory, and its gradient added up, once a group; so a group has at least so
// many times its bytes.
constexpr std::int64_t kGroupBytesPerFilterByte = 4;
// Of the kept workspace, beside oneDNN's scratch memory.
constexpr std::int64_t kReorderedBytes = kKeptWorkspaceBytes / 4 * 3;
// Less is not worth a thread, in elements.
constexpr std::int64_t kAddedPerThread = 64 * 1024;

// What oneDNN has for a key: a convolution, or an error where it has no fast kernel, which takes as
// long to find out.
using Answer = absl::StatusOr<std::unique_ptr<OneDnnConvolution>>;

// Convolutions of all devices. One takes some 100 KiB, most of it machine code.
constexpr std::size_t kKeptConvolutions = 256;

using ConvolutionPool = LruPool<OneDnnKey, Answer>;

ConvolutionPool& Pool() {
  static ConvolutionPool& pool = *new ConvolutionPool(kKeptConvolutions);
  return pool;
}

std::int64_t PaddedTo16(std::int64_t channels) { return (channels + 15) / 16 * 16; }

// With channels as blocks of 16 pad them, of the shape's filter and of one image with its output.
std::int64_t FilterBytes(const Conv2dShape& shape) {
  return PaddedTo16(shape.filter[0]) * PaddedTo16(shape.filter[1]) * shape.filter[2] *
         shape.filter[3] * std::int64_t{sizeof(float)};
}

std::int64_t ImageBytes(const Conv2dShape& shape) {
  return (PaddedTo16(shape.input[1]) * shape.input[2] * shape.input[3] +
          PaddedTo16(shape.output[1]) * shape.output[2] * shape.output[3]) *
         std::int64_t{sizeof(float)};
}

// A convolution of the pool, taken for as long as this lives.
class Pooled {
 public:
  static absl::StatusOr<Pooled> Take(const OneDnnKey& key) {
    std::unique_ptr<Answer> answer = Pool().Take(key);
    if (answer == nullptr) answer = std::make_unique<Answer>(OneDnnConvolution::Create(key));
    const absl::Status status = answer->status();
    // Other errors pass.
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
    Pooled pooled(key, std::move(answer));
    if (!status.ok()) return status;
    return pooled;
  }
  ~Pooled() {
    if (answer_ != nullptr) Pool().Put(key_, std::move(answer_));
  }
  Pooled(Pooled&&) = default;
  Pooled& operator=(Pooled&&) = default;

  OneDnnConvolution& operator*() const { return ***answer_; }
  OneDnnConvolution* operator->() const { return (*answer_)->get(); }

 private:
  Pooled(const OneDnnKey& key, std::unique_ptr<Answer> answer)
      : key_(key), answer_(std::move(answer)) {}

  OneDnnKey key_;
  std::unique_ptr<Answer> answer_;
};

OneDnnKey KeyOf(const Conv2d& convolution, OneDnnLayout layout, std::int64_t images,
                const CpuContext& context) {
  OneDnnKey key{convolution.direction, layout, convolution.shape, context.threads()};
  key.shape.input[0] = key.shape.output[0] = images;
  return key;
}

// The convolution of `images` images from `first` on.
Conv2d Group(const Conv2d& convolution, std::int64_t first, std::int64_t images) {
  Conv2d group = convolution;
  const std::int64_t batch = convolution.shape.input[0];
  group.input += first * (ElementCount(convolution.shape.input) / batch);
  group.output += first * (ElementCount(convolution.shape.output) / batch);
  group.shape.input[0] = group.shape.output[0] = images;
  return group;
}

// How many of the shape's images oneDNN is given at once; the last group may have fewer. Depends on
// the shape and the threads only.
std::int64_t ImagesPerGroup(const Conv2dShape& shape, int threads) {
  const std::int64_t filter_bytes = FilterBytes(shape);
  const std::int64_t bytes =
      std::min(std::max(kGroupBytes * threads, kGroupBytesPerFilterByte * filter_bytes),
               kReorderedBytes - filter_bytes);
  const std::int64_t most = std::max<std::int64_t>(1, bytes / ImageBytes(shape));
  // Groups of equal size, but for the last.
  const std::int64_t groups = (shape.input[0] + most - 1) / most;
  return (shape.input[0] + groups - 1) / groups;
}

// Adds `more` to `sums`.
void Add(const float* more, float* sums, std::int64_t count, const CpuContext& context) {
  ParallelFor(context.threads(), count, kAddedPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sums[i] += more[i];
  });
}

}  // namespace

bool FitsKeptWorkspace(const Conv2dShape& shape) {
  return FilterBytes(shape) + ImageBytes(shape) <= kReorderedBytes;
}

absl::Status ConvolveInGroups(const Conv2d& convolution, OneDnnLayout layout, CpuContext& context) {
  const std::int64_t batch = convolution.shape.input[0];
  const std::int64_t images = ImagesPerGroup(convolution.shape, context.threads());
  ACCELD_ASSIGN_OR_RETURN(const Pooled whole,
                          Pooled::Take(KeyOf(convolution, layout, images, context)));
  std::optional<Pooled> last;
  if (batch % images != 0) {
    ACCELD_ASSIGN_OR_RETURN(last,
                            Pooled::Take(KeyOf(convolution, layout, batch % images, context)));
  }
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(std::max(whole->workspace_bytes(), last ? (*last)->workspace_bytes() : 0)));
  // The filter gradient of the first group goes to its place; those of the others are added to it.
  const std::int64_t filter_count = ElementCount(convolution.shape.filter);
  float* more = nullptr;
  if (convolution.direction == Conv2dDirection::kBackwardFilter && images < batch) {
    ACCELD_ASSIGN_OR_RETURN(more, context.Elements<float>(filter_count));
  }
  const dnnl::memory::desc* filter_layout = nullptr;
  for (std::int64_t first = 0; first < batch; first += images) {
    const bool is_last = batch - first < images;
    OneDnnConvolution& part = is_last ? **last : *whole;
    Conv2d group = Group(convolution, first, std::min(images, batch - first));
    if (more != nullptr && first > 0) group.filter = more;
    const bool filter_is_ready = filter_layout != nullptr && *filter_layout == part.filter_layout();
    ACCELD_RETURN_IF_ERROR(part.Run(group, workspace, filter_is_ready));
    filter_layout = &part.filter_layout();
    if (group.filter == more) Add(more, convolution.filter, filter_count, context);
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
