import { isSampled, type TraceContext } from "../trace-context.ts";

export interface Sampling {
  /** The share of requests without a parent, or of all if the parent does not decide. */
  readonly ratio: number;
  readonly parentBased: boolean;
}

/** The randomness of a trace id is its last 56 bits, by W3C Trace Context level 2. */
const randomHexDigits = 14;
const randomMax = 2 ** 56;

/**
 * The random part of the trace id, a new one without a parent; undefined if the request is not sampled. Services that sample
 * by the ratio of the trace id make the same choice.
 */
export function sample(
  { ratio, parentBased }: Sampling,
  parent: TraceContext | undefined,
): string | undefined {
  if (parent === undefined) {
    // Most requests end here, so only this one number is generated.
    const random = Math.random();
    return random >= 1 - ratio ? randomPart(random) : undefined;
  }
  const random = parent.traceId.slice(-randomHexDigits);
  const sampled = parentBased ? isSampled(parent) : Number.parseInt(random, 16) / randomMax >= 1 - ratio;
  return sampled ? random : undefined;
}

function randomPart(random: number): string {
  return BigInt(Math.floor(random * randomMax))
    .toString(16)
    .padStart(randomHexDigits, "0");
}
