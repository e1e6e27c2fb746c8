#include "server/service/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace acceld {

int RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kMaxFileNumber);
    if (limit.rlim_cur < wanted) {
      limit.rlim_cur = wanted;
      setrlimit(RLIMIT_NOFILE, &limit);
    }
  }
  return FileLimit();
}

int FileLimit() {
  rlimit limit{};
  // The least that POSIX promises, should the limit not be readable.
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 20;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMaxFileNumber));
}

}  // namespace acceld
