// How many files, sockets among them, the process may have open.
#pragma once

namespace acceld {

// File numbers at and above this are not used, even where the system allows them: the kernel's
// table of files grows with the highest number in use.
inline constexpr int kMaxFileNumber = 65536;

// Raises the soft limit on open files to the hard one, at most kMaxFileNumber; never lowers it.
// Returns the soft limit, at most kMaxFileNumber.
int RaiseFileLimit();

// The soft limit on open files, at most kMaxFileNumber.
int FileLimit();

}  // namespace acceld
