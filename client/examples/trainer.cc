#include "client/examples/trainer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "backends/core/status.h"

namespace acceld::examples {
namespace {

constexpr std::uint32_t kSeed = 1;
constexpr std::int64_t kBatch = 32;
constexpr double kFirstLearningRate = 0.05;
// Of the learning rate, after each epoch: large steps at first, small ones to settle.
constexpr double kDecay = 0.85;
constexpr double kMomentum = 0.9;

// One step to each side and corner, or none.
constexpr std::int64_t kShifts = 9;

// [9, 3, 3]: filters with a single 1, in each place. The output of a convolution with one is the
// input, shifted; with the middle one it is the input.
std::vector<float> ShiftFilters() {
  std::vector<float> filters(kShifts * kShifts);
  for (std::int64_t i = 0; i < kShifts; ++i) filters[static_cast<std::size_t>(i * kShifts + i)] = 1;
  return filters;
}

// `kBatch` elements of `rows` from `begin` on, or the rest.
absl::Span<const std::int64_t> Slice(const std::vector<std::int64_t>& rows, std::size_t begin) {
  return absl::MakeConstSpan(rows).subspan(begin, kBatch);
}

// [count, 10]: 1 at the class of the image, else 0.
std::vector<float> OneHot(absl::Span<const int> labels) {
  std::vector<float> one_hot(labels.size() * kClasses);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    one_hot[i * kClasses + static_cast<std::size_t>(labels[i])] = 1;
  }
  return one_hot;
}

}  // namespace

absl::StatusOr<Trainer> Trainer::Create(ComputeBackend& backend, const Digits& digits) {
  Random random(kSeed);
  ACCELD_ASSIGN_OR_RETURN(Network network, Network::Create(backend, kBatch, random));
  Trainer trainer(backend, random, std::move(network));
  trainer.learning_rate_ = kFirstLearningRate;
  for (std::int64_t i = 0; i < digits.count(); ++i) {
    if (i % kHeldOutEvery == 0) {
      trainer.held_out_.push_back(i);
      trainer.held_out_labels_.push_back(digits.labels[static_cast<std::size_t>(i)]);
    } else {
      trainer.training_.push_back(i);
    }
  }

  trainer.count_ = digits.count();
  ACCELD_ASSIGN_OR_RETURN(trainer.images_, Buffer::Of(backend, digits.pixels));
  ACCELD_ASSIGN_OR_RETURN(trainer.one_hot_, Buffer::Of(backend, OneHot(digits.labels)));
  ACCELD_ASSIGN_OR_RETURN(trainer.batch_images_, Buffer::Zeros(backend, kBatch * kPixels));
  ACCELD_ASSIGN_OR_RETURN(trainer.shifted_images_, Buffer::Zeros(backend, kBatch * kPixels));
  ACCELD_ASSIGN_OR_RETURN(trainer.shifts_, Buffer::Of(backend, ShiftFilters()));
  ACCELD_ASSIGN_OR_RETURN(trainer.batch_one_hot_, Buffer::Zeros(backend, kBatch * kClasses));
  const auto held_out = static_cast<std::int64_t>(trainer.held_out_.size());
  ACCELD_ASSIGN_OR_RETURN(trainer.results_, Buffer::Zeros(backend, held_out * kClasses + 1));
  return trainer;
}

absl::StatusOr<EpochReport> Trainer::RunEpoch() {
  const auto start = std::chrono::steady_clock::now();
  Shuffle();
  ACCELD_RETURN_IF_ERROR(Train());
  ACCELD_RETURN_IF_ERROR(Measure());
  learning_rate_ *= kDecay;

  // Everything so far is only submitted. This copy waits for it, and returns its error if it
  // failed.
  std::vector<float> results(held_out_.size() * kClasses + 1);
  ACCELD_RETURN_IF_ERROR(Download(*backend_, results_.address(), absl::MakeSpan(results)));
  EpochReport report = Evaluate(results);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report.images_per_second = static_cast<double>(training_.size()) / elapsed.count();
  return report;
}

void Trainer::Shuffle() {
  // Fisher and Yates; std::shuffle differs between standard libraries.
  for (std::size_t i = training_.size(); i > 1; --i) {
    std::swap(training_[i - 1], training_[random_.Below(static_cast<std::uint32_t>(i))]);
  }
}

absl::Status Trainer::Train() {
  for (std::size_t begin = 0; begin < training_.size(); begin += kBatch) {
    ACCELD_RETURN_IF_ERROR(TrainBatch(Slice(training_, begin), begin == 0));
  }
  return absl::OkStatus();
}

absl::Status Trainer::GatherBatch(absl::Span<const std::int64_t> rows) {
  ACCELD_RETURN_IF_ERROR(backend_->Gather({.rows = count_,
                                           .columns = kPixels,
                                           .indices = {rows.begin(), rows.end()},
                                           .table = images_.address(),
                                           .output = batch_images_.address()}));
  return backend_->Gather({.rows = count_,
                           .columns = kClasses,
                           .indices = {rows.begin(), rows.end()},
                           .table = one_hot_.address(),
                           .output = batch_one_hot_.address()});
}

absl::Status Trainer::ShiftBatch(std::int64_t n) {
  // Shifted images are new ones to learn from. Half of the batches stay as they are.
  constexpr std::int64_t kMiddle = kShifts / 2;
  const std::int64_t shift = random_.Below(2) == 0 ? kMiddle : random_.Below(kShifts);
  return backend_->Conv2dForward(
      {.shape = Conv2dShape::For({n, 1, kImageSide, kImageSide}, {1, 1, 3, 3}, /*stride=*/{1, 1},
                                 /*padding=*/{1, 1}),
       .input = batch_images_.address(),
       .filter = ElementAt(shifts_.address(), shift * kShifts),
       .output = shifted_images_.address()});
}

absl::Status Trainer::TrainBatch(absl::Span<const std::int64_t> rows, bool first) {
  const auto n = static_cast<std::int64_t>(rows.size());
  const Address images = shifted_images_.address();
  const Address one_hot = batch_one_hot_.address();
  ACCELD_RETURN_IF_ERROR(GatherBatch(rows));
  ACCELD_RETURN_IF_ERROR(ShiftBatch(n));
  ACCELD_RETURN_IF_ERROR(network_.Forward(images, n));
  const Address loss =
      ElementAt(results_.address(), static_cast<std::int64_t>(held_out_.size()) * kClasses);
  ACCELD_RETURN_IF_ERROR(network_.AddLoss(one_hot, n, 1.0 / static_cast<double>(training_.size()),
                                          loss, /*accumulate=*/!first));
  ACCELD_RETURN_IF_ERROR(network_.Backward(images, one_hot, n));
  return network_.Update(n, learning_rate_, kMomentum);
}

absl::Status Trainer::Measure() {
  for (std::size_t begin = 0; begin < held_out_.size(); begin += kBatch) {
    const absl::Span<const std::int64_t> rows = Slice(held_out_, begin);
    ACCELD_RETURN_IF_ERROR(GatherBatch(rows));
    ACCELD_RETURN_IF_ERROR(
        network_.Forward(batch_images_.address(), static_cast<std::int64_t>(rows.size())));
    ACCELD_RETURN_IF_ERROR(backend_->CopyDtoD(
        ElementAt(results_.address(), static_cast<std::int64_t>(begin) * kClasses),
        network_.probabilities(), rows.size() * kClasses * sizeof(float)));
  }
  return absl::OkStatus();
}

EpochReport Trainer::Evaluate(absl::Span<const float> results) const {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < held_out_labels_.size(); ++i) {
    const absl::Span<const float> row = results.subspan(i * kClasses, kClasses);
    const auto likeliest = std::max_element(row.begin(), row.end()) - row.begin();
    if (likeliest == held_out_labels_[i]) ++hits;
  }
  return {.loss = results.back(),
          .accuracy = static_cast<double>(hits) / static_cast<double>(held_out_labels_.size())};
}

}  // namespace acceld::examples
