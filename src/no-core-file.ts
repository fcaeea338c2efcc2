import { dlopen, FFIType } from "bun:ffi";

// glibc, musl, macOS. Windows writes no core files.
const libraries = ["libc.so.6", "libc.so", "libSystem.B.dylib"];
// The same number on Linux and macOS.
const rlimitCore = 4;

/** A core file would contain every token and plant in memory. Whatever the shell's limit, a crash of this process writes none. */
export function writeNoCoreFile(): void {
  // struct rlimit: the soft and the hard limit.
  const none = new BigUint64Array(2);
  for (const library of libraries) {
    try {
      const setrlimit = { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 } as const;
      dlopen(library, { setrlimit }).symbols.setrlimit(rlimitCore, none);
      return;
    } catch {
      // Not this platform's.
    }
  }
}
