import { dlopen, FFIType } from "bun:ffi";

// glibc and musl.
const libraries = ["libc.so.6", "libc.so"];

/**
 * Duplicates a file descriptor with the system's dup, which neither Node nor Bun exposes.
 * @throws Error it is not open, or the system has no such function.
 */
export function duplicate(descriptor: number): number {
  for (const library of libraries) {
    let dup: (descriptor: number) => number;
    try {
      dup = dlopen(library, { dup: { args: [FFIType.i32], returns: FFIType.i32 } }).symbols.dup;
    } catch {
      // Not this system's.
      continue;
    }
    const copy = dup(descriptor);
    if (copy < 0) throw new Error(`The descriptor ${descriptor} cannot be duplicated.`);
    return copy;
  }
  throw new Error("The C library was not found.");
}
