// Calls of CUDA while somebody else's stream captures.
#pragma once

#include <cuda_runtime_api.h>

namespace acceld::cuda {

// While it lives, this thread may make calls that another user of CUDA in this process forbids all
// threads by capturing a stream (cudaStreamCaptureModeGlobal, the default). Such a call would fail
// for no fault of ours, and end that capture. Which calls these are, CUDA says of few: those that
// may wait or allocate, or load a kernel's code, are. Takes two exchanges of a value of the thread.
// The thread's card is set before.
class RelaxedCapture {
 public:
  RelaxedCapture() : exchanged_(cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess) {
    // No later call is to return it.
    if (!exchanged_) (void)cudaGetLastError();
  }
  ~RelaxedCapture() {
    if (exchanged_) (void)cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  // That of the thread, and meanwhile what it was before.
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  const bool exchanged_;
};

}  // namespace acceld::cuda
