import { backoffMs } from "../../retry/backoff.ts";

const retryWaitMsMin = 20;
const retryWaitMsMax = 500;

/** How long to wait for the server after a failed attempt. */
export function retryWaitMs(attempt: number): number {
  return backoffMs(attempt, retryWaitMsMin, retryWaitMsMax);
}
