// Another process, which opens memory of a fake card that it is given:
//
//   opener_program DESCRIPTOR SIZE_BYTES DEVICE_UUID
//
// It adds 1 to the first byte, writes "opened", and keeps the memory until its input ends.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "backends/cuda/cuda_device.h"
#include "backends/local/local_backend.h"
#include "tests/testing/cuda/fake_cuda_driver.h"

namespace acceld {
namespace {

absl::Status AddOne(LocalBackend& backend, Address address) {
  std::byte first{};
  ACCELD_RETURN_IF_ERROR(backend.CopyDtoH(absl::MakeSpan(&first, 1), address));
  first = static_cast<std::byte>(static_cast<int>(first) + 1);
  ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(address, absl::MakeConstSpan(&first, 1)));
  return backend.Synchronize();
}

absl::Status Open(int descriptor, std::uint64_t size_bytes, const std::string& uuid) {
  LocalBackend backend(cuda::MakeCudaDevice(
      std::make_unique<FakeCudaDriver>(FakeCudaOptions{.on_misuse = [](const std::string& what) {
        std::fprintf(stderr, "%s\n", what.c_str());
        std::abort();
      }})));
  ACCELD_RETURN_IF_ERROR(backend.Init());
  ACCELD_ASSIGN_OR_RETURN(
      const Address address,
      backend.ImportHandle(
          {.descriptor = UniqueFd(descriptor), .size_bytes = size_bytes, .device_uuid = uuid}));
  ACCELD_RETURN_IF_ERROR(AddOne(backend, address));
  std::puts("opened");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return backend.Free(address);
}

}  // namespace
}  // namespace acceld

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const absl::Status status = acceld::Open(std::atoi(argv[1]), std::stoull(argv[2]), argv[3]);
  if (status.ok()) return EXIT_SUCCESS;
  std::printf("%s\n", status.ToString().c_str());
  return EXIT_FAILURE;
}
