import { type Noise, noiseProblem } from "./noise.ts";
import { median } from "./servers.ts";

const floor = 0.9;

export interface Verdict {
  /** 0: fine. 1: under the floor. 3: this machine is too noisy to tell. */
  readonly exitCode: 0 | 1 | 3;
  readonly text: string;
}

/** Of rates as shares of a bare Bun.serve's, by round. */
export function verdict(ratios: readonly number[], noise: Noise): Verdict {
  const ratio = median(ratios);
  const text = `${ratio.toFixed(2)} of bare Bun.serve, floor ${floor}`;
  const problem = noiseProblem(noise);
  if (problem !== undefined) return { exitCode: 3, text: `${text}\n${problem}` };
  return ratio >= floor
    ? { exitCode: 0, text: `${text}: fine` }
    : { exitCode: 1, text: `${text}: UNDER THE FLOOR` };
}
