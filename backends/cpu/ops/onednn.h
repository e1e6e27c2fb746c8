// Convolutions by oneDNN. The arrays are plain NCHW; where oneDNN computes faster in another
// layout, they are reordered into and out of workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/ops/conv2d.h"

namespace acceld::cpu {

// The layout of images that oneDNN is asked for. It lays out the filter as it likes.
enum class OneDnnLayout {
  kBlocked,       // channels in blocks of 16, nChw16c; up to kMaxImageChannels input channels, NCHW
  kChannelsLast,  // NHWC
};

// Up to so many channels oneDNN's blocked kernels read as they are.
inline constexpr std::int64_t kMaxImageChannels = 3;

// Whatever a OneDnnConvolution depends on.
struct OneDnnKey {
  Conv2dDirection direction;
  OneDnnLayout layout;
  Conv2dShape shape;
  int threads;

  friend bool operator==(const OneDnnKey&, const OneDnnKey&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const OneDnnKey& key) {
    return H::combine(std::move(state), key.direction, key.layout, key.shape.input,
                      key.shape.filter, key.shape.output, key.shape.stride, key.shape.padding,
                      key.threads);
  }
};

// Whether oneDNN, which counts in 32 bits here and there, is safe with one image of the shape.
bool OneDnnTakes(const Conv2dShape& shape);

// The primitives of one convolution, which take up to a millisecond to make, and oneDNN's names for
// the memory they work on. They keep nothing of what they have computed. One thread at a time.
class OneDnnConvolution {
 public:
  // For the calling thread's number of OpenMP threads, which is key.threads. Takes another layout
  // where oneDNN has only its reference code for the one asked for. Unsupported where it has
  // nothing better for the shape.
  static absl::StatusOr<std::unique_ptr<OneDnnConvolution>> Create(const OneDnnKey& key);

  // What Run needs, aligned as CpuContext's workspace is.
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }

  // Computes `convolution`, which is of the key's direction and shape. With `filter_is_ready` the
  // filter that is read is still in the workspace as the last Run with an equal filter_layout left
  // it.
  absl::Status Run(const Conv2d& convolution, std::byte* workspace, bool filter_is_ready);

  const dnnl::memory::desc& filter_layout() const { return filter_.layout; }

 private:
  // One of the three arrays.
  struct Array {
    dnnl::memory::desc layout;
    bool is_written = false;
    dnnl::memory plain;
    // Where the layout is not plain: in workspace, and how to get from one to the other, if not by
    // CopyFromBlocks.
    dnnl::memory laid_out;
    std::uint64_t workspace_offset = 0;
    dnnl::reorder reorder;

    bool is_plain() const { return plain.get_desc() == layout; }
  };
  struct Parts;

  static Parts MakeParts(const OneDnnKey& key, dnnl::memory::format_tag input,
                         dnnl::memory::format_tag output);

  OneDnnConvolution(const OneDnnKey& key, Parts parts);

  void InitArray(Array& array, const std::array<std::int64_t, 4>& sizes, int argument);
  std::uint64_t TakeWorkspace(std::uint64_t bytes);
  // Names the memory of this run.
  void Point(const Conv2d& convolution, std::byte* workspace);
  // Into the layout what is read, out of it what is written.
  void Reorder(Array& array);

  const OneDnnKey key_;
  dnnl::stream stream_;
  dnnl::primitive convolution_;
  Array input_;
  Array filter_;
  Array output_;
  dnnl::memory scratchpad_;
  std::uint64_t scratchpad_offset_ = 0;
  std::uint64_t workspace_bytes_ = 0;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace acceld::cpu
