// Trains the network on the digits and measures it on those it has not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "client/examples/buffer.h"
#include "client/examples/digits.h"
#include "client/examples/network.h"
#include "client/examples/random.h"

namespace acceld::examples {

struct EpochReport {
  // The mean cross-entropy of the images trained on, each as it was before its step.
  double loss = 0;
  // Which part of the held-out images is recognized, from 0 to 1.
  double accuracy = 0;
  // Images trained on per second of the epoch, which includes the measuring.
  double images_per_second = 0;
};

// The same digits and device give the same losses, bit for bit: in this process or in a daemon,
// alone or among others.
class Trainer {
 public:
  // Images whose index is a multiple of this are held out.
  static constexpr std::int64_t kHeldOutEvery = 5;

  // Uploads the images and the first weights. `backend` outlives it.
  static absl::StatusOr<Trainer> Create(ComputeBackend& backend, const Digits& digits);

  // Trains on every image once, in a new random order, then measures. Waits for the device once.
  absl::StatusOr<EpochReport> RunEpoch();

 private:
  Trainer(ComputeBackend& backend, Random random, Network network)
      : backend_(&backend), random_(random), network_(std::move(network)) {}

  void Shuffle();
  // Copies the images and classes of `rows` into the batch.
  absl::Status GatherBatch(absl::Span<const std::int64_t> rows);
  // Moves all images of the batch by one random step, or not at all.
  absl::Status ShiftBatch(std::int64_t n);
  absl::Status TrainBatch(absl::Span<const std::int64_t> rows, bool first);
  absl::Status Train();
  absl::Status Measure();
  EpochReport Evaluate(absl::Span<const float> results) const;

  ComputeBackend* backend_;
  Random random_;
  Network network_;
  double learning_rate_ = 0;

  // Indices of images.
  std::vector<std::int64_t> training_;
  std::vector<std::int64_t> held_out_;
  std::vector<int> held_out_labels_;

  // All images [count, 64] and classes [count, 10], and those of the batch.
  std::int64_t count_ = 0;
  Buffer images_;
  Buffer one_hot_;
  Buffer batch_images_;
  Buffer shifted_images_;
  Buffer batch_one_hot_;

  // [9, 1, 1, 3, 3]: a filter for each step.
  Buffer shifts_;

  // What an epoch brings back to the host: the probabilities of the held-out images
  // [held_out, 10], then the loss.
  Buffer results_;
};

}  // namespace acceld::examples
