import { dlopen, FFIType } from "bun:ffi";

// glibc and musl.
const libraries = ["libc.so.6", "libc.so"];

/**
 * Another descriptor of an open file, with the system's own dup, which neither Node nor Bun has.
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
  throw new Error("The system's own library was not found.");
}
