#include "backends/registry/selection_request.h"

#include <string>

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(SelectionRequestToString, ShowsThatAnEmptyRequestAcceptsAnything) {
  EXPECT_EQ(SelectionRequest().ToString(), "{anything}");
}

TEST(SelectionRequestToString, ShowsEveryRequirement) {
  SelectionRequest request;
  request.require_gpu = true;
  request.require_fp16 = true;
  request.require_bf16 = true;
  request.require_fp8 = true;
  request.require_tensor_cores = true;
  request.require_unified_memory = true;
  request.require_peer_access = true;
  request.kind = BackendKind::kCuda;
  request.device = 1;
  EXPECT_EQ(request.ToString(),
            "{require_gpu, require_fp16, require_bf16, require_fp8, require_tensor_cores, "
            "require_unified_memory, require_peer_access, kind: cuda, device: 1}");
}

TEST(SelectionRequestToString, ShowsTheUuid) {
  SelectionRequest request;
  request.device = "GPU-7f3a";
  EXPECT_EQ(request.ToString(), "{device: GPU-7f3a}");
}

TEST(SelectionRequestToString, EscapesAUuidThatIsNotPrintable) {
  SelectionRequest request;
  request.device = std::string("a\nb\xff");
  EXPECT_EQ(request.ToString(), "{device: a\\nb\\xff}");
}

TEST(SelectionRequestToString, CutsALongUuid) {
  SelectionRequest request;
  request.device = std::string(1 << 20, 'x');
  EXPECT_EQ(request.ToString(), "{device: " + std::string(64, 'x') + "…}");
}

TEST(SelectionRequestMissingCapability, IsEmptyWhereNothingIsRequired) {
  Capabilities none;
  none.unified_memory = false;
  EXPECT_EQ(SelectionRequest().MissingCapability(none), "");
}

TEST(SelectionRequestMissingCapability, IsTheFirstThatIsNotThere) {
  SelectionRequest request;
  request.require_fp16 = true;
  request.require_tensor_cores = true;
  Capabilities capabilities;
  EXPECT_EQ(request.MissingCapability(capabilities), "fp16");
  capabilities.fp16 = true;
  EXPECT_EQ(request.MissingCapability(capabilities), "tensor cores");
  capabilities.tensor_cores = true;
  EXPECT_EQ(request.MissingCapability(capabilities), "");
}

}  // namespace
}  // namespace acceld
