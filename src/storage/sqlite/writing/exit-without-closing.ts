import { dlopen, FFIType } from "bun:ffi";

// glibc, musl, macOS, Windows.
const libraries = ["libc.so.6", "libc.so", "libSystem.B.dylib", "ucrtbase.dll"];

/**
 * Ends the process immediately, with the system's _exit. Bun's exit closes every database: that syncs, checkpoints and
 * deletes the WAL, which after a failed sync is the only sound copy. Returns only if no such function was found.
 */
export function exitWithoutClosing(code: number): void {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: [FFIType.i32], returns: FFIType.void } }).symbols._exit(code);
    } catch {
      // Not this platform's; the caller has another way.
    }
  }
}
