const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** An id as JSON, digit by digit as it was written. Text that is not a number becomes a string, which the service refuses. */
export function idJson(text: string): string {
  return jsonNumber.test(text) ? text : JSON.stringify(text);
}
