// Opening a library while a stream is captured.
#pragma once

#include <cuda_runtime_api.h>

namespace acceld::cuda {

// While it lives, this thread may make the calls that are not allowed while it captures a stream,
// such as allocating: what a library does when it is opened is no part of the graph.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  // That of the thread, and meanwhile what it was before.
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace acceld::cuda
