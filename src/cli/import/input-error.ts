/** A file cannot be read or written; the message has the reason. */
export class InputError extends Error {
  override readonly name = "InputError";
}
