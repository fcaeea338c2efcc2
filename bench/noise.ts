import { readFileSync } from "node:fs";

/** What disturbed a measurement, as shares of the machine's processor time. */
export interface Noise {
  /** Used while the benchmark was idle. */
  readonly others: number;
  /** Steal time during the run. */
  readonly steal: number;
  /** Of the bare server's rates: the middle half of them, as a share of their median. */
  readonly spread: number;
}

export interface CpuTimes {
  readonly total: number;
  readonly idle: number;
  readonly steal: number;
}

// On a quiet machine all three stay below a third of this.
const sharesMax: Noise = { others: 0.1, steal: 0.05, spread: 0.15 };
const sampleMs = 300;

/** Why no verdict is possible; undefined if the machine is quiet enough. */
export function noiseProblem(noise: Noise): string | undefined {
  const percent = (share: number): string => `${(share * 100).toFixed(0)}%`;
  const problems = [
    noise.others > sharesMax.others &&
      `other processes use ${percent(noise.others)} of the processor (limit ${percent(sharesMax.others)})`,
    noise.steal > sharesMax.steal &&
      `the hypervisor takes ${percent(noise.steal)} of it (limit ${percent(sharesMax.steal)})`,
    noise.spread > sharesMax.spread &&
      `the bare server's rates differ by ${percent(noise.spread)} (limit ${percent(sharesMax.spread)})`,
  ].filter((problem) => problem !== false);
  return problems.length === 0 ? undefined : `The machine is too noisy to judge: ${problems.join(", and ")}.`;
}

/** From the first line of /proc/stat. */
export function parseCpuTimes(text: string): CpuTimes {
  const times = (/^cpu +(.*)$/m.exec(text)?.[1] ?? "").split(" ").map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = times;
  const total = user + nice + system + idle + ioWait + irq + softIrq + steal;
  return { total, idle: idle + ioWait, steal };
}

/** The middle half of the values, as a share of their median. */
export function relativeSpread(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  return (at(0.75) - at(0.25)) / Math.max(at(0.5), Number.EPSILON);
}

/**
 * Repeats a measurement with too much steal time, at most that many times per run. After that, measurements are used as they
 * are.
 */
export class RepeatedWhereStolen {
  #repetitionsLeft: number;
  readonly #readTimes: () => CpuTimes;

  constructor(repetitionsMax: number, readTimes = readCpuTimes) {
    this.#repetitionsLeft = repetitionsMax;
    this.#readTimes = readTimes;
  }

  async run<Result>(measure: () => Promise<Result>): Promise<Result> {
    for (;;) {
      const before = this.#readTimes();
      const result = await measure();
      const after = this.#readTimes();
      const steal = (after.steal - before.steal) / Math.max(1, after.total - before.total);
      if (steal <= sharesMax.steal || this.#repetitionsLeft === 0) return result;
      this.#repetitionsLeft--;
      console.error(`again: the hypervisor took ${(steal * 100).toFixed(0)}% of the processor`);
    }
  }
}

/** Measures the noise of a run. Only Linux has these numbers; elsewhere only the spread counts. */
export class NoiseMeter {
  readonly #start = readCpuTimes();
  readonly #others: number[] = [];
  readonly #bareRates: number[] = [];

  /** Between two loads, while the servers are idle. */
  async sampleOthers(): Promise<void> {
    const before = readCpuTimes();
    await Bun.sleep(sampleMs);
    const after = readCpuTimes();
    this.#others.push(1 - (after.idle - before.idle) / Math.max(1, after.total - before.total));
  }

  addBareRate(rate: number): void {
    this.#bareRates.push(rate);
  }

  get noise(): Noise {
    const now = readCpuTimes();
    const total = Math.max(1, now.total - this.#start.total);
    const others = this.#others.reduce((sum, share) => sum + share, 0) / Math.max(1, this.#others.length);
    return {
      others: process.platform === "linux" ? others : 0,
      steal: (now.steal - this.#start.steal) / total,
      spread: relativeSpread(this.#bareRates),
    };
  }
}

function readCpuTimes(): CpuTimes {
  return parseCpuTimes(process.platform === "linux" ? readFileSync("/proc/stat", "utf8") : "");
}
