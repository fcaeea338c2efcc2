import { type Noise, noiseProblem } from "./noise.ts";
import { median } from "./servers.ts";

const floors = { oneWorker: 0.9, allCores: 0.75 };

/** Rates as shares of a bare Bun.serve's, by round. */
export type Ratios = Record<keyof typeof floors, number[]>;

export interface Verdict {
  /** 0: fine. 1: under a floor. 3: this machine is too noisy to tell. */
  readonly exitCode: 0 | 1 | 3;
  readonly lines: readonly string[];
}

export function verdict(ratios: Ratios, noise: Noise): Verdict {
  const problem = noiseProblem(noise);
  const judged = Object.entries(floors).map(([name, floor]) => {
    const ratio = median(ratios[name as keyof typeof floors]);
    return { name, floor, ratio, fine: ratio >= floor };
  });
  const lines = judged.map(({ name, floor, ratio, fine }) => {
    const text = `${name}: ${ratio.toFixed(2)} of bare Bun.serve, floor ${floor}`;
    return problem === undefined ? `${text}: ${fine ? "fine" : "UNDER THE FLOOR"}` : text;
  });
  if (problem !== undefined) return { exitCode: 3, lines: [...lines, problem] };
  return { exitCode: judged.every(({ fine }) => fine) ? 0 : 1, lines };
}
