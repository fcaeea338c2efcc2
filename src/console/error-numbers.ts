/**
 * The errors that the console acts on or finds itself, by their kind in the service's catalogue. A test compares the
 * numbers with it.
 */
export const errorNumbers = {
  "body-empty": 40001,
  "not-json": 40002,
  "not-text": 40003,
  "not-an-object": 40004,
  "name-repeated": 40005,
  "field-missing": 40010,
  "wrong-type": 40011,
  "not-int64": 40012,
  "holds-nul": 40013,
  "id-conflict": 40020,
  "wrong-parameter": 40031,
  "no-credentials": 40101,
  "bad-credentials": 40102,
  "lacks-scope": 40301,
  "no-such-plant": 40402,
  "body-too-slow": 40801,
  "stale-cursor": 41001,
  "over-rate": 42901,
} as const;

export type ErrorName = keyof typeof errorNumbers;

/** Whether the service was unable to do what was asked, with a status from 500, and may be able to later. */
export function isServerError(error: number): boolean {
  return error >= 50_000;
}
