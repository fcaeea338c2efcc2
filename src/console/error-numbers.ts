/** The errors that the console acts on, by their kind in the service's catalogue. A test compares the numbers with it. */
export const errorNumbers = {
  "id-conflict": 40020,
  "no-credentials": 40101,
  "bad-credentials": 40102,
  "lacks-scope": 40301,
  "no-such-plant": 40402,
  "body-too-slow": 40801,
  "stale-cursor": 41001,
  "over-rate": 42901,
  "too-busy": 50301,
  "store-unavailable": 50302,
  closing: 50303,
  "issuer-unavailable": 50304,
} as const;

/** Whether the service was unable to respond, with a status from 500, and may be able to later. */
export function isServerError(error: number): boolean {
  return error >= 50_000;
}
