/** The errors that the console acts on, by their kind in the service's catalogue. A test compares the numbers with it. */
export const errorNumbers = {
  "wrong-parameter": 40031,
  "bad-credentials": 40102,
  "lacks-scope": 40301,
  "no-such-plant": 40402,
  "body-too-slow": 40801,
  "over-rate": 42901,
} as const;
