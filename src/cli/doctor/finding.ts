import { formatColumns, green, red, yellow } from "../terminal.ts";

export type Outcome = "ok" | "warn" | "fail";

/** What one check found. */
export interface Finding {
  /** What was checked, in one or two words. */
  readonly check: string;
  readonly outcome: Outcome;
  /** The facts, in one line. */
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  return {
    ok: (message: string): Finding => ({ check, outcome: "ok", message }),
    warn: (message: string, advice: string): Finding => ({ check, outcome: "warn", message, advice }),
    fail: (message: string, advice: string): Finding => ({ check, outcome: "fail", message, advice }),
  };
}

/** One line for each finding, then what to do, the failures first. */
export function formatFindings(findings: readonly Finding[], colour: boolean): string {
  const marks = { ok: green("ok", colour), warn: yellow("warn", colour), fail: red("fail", colour) };
  const lines = formatColumns(findings.map(({ outcome, check, message }) => [outcome, check, message]))
    .split("\n")
    .map((line) => line.replace(/^\w+/, (word) => marks[word as Outcome]));
  const advised = (["fail", "warn"] as const).flatMap((outcome) =>
    findings.filter((finding) => finding.outcome === outcome && finding.advice !== undefined),
  );
  const advice = advised.map(({ outcome, check, advice: text }) => `  ${marks[outcome]} ${check}: ${text}`);
  return [...lines, ...(advice.length > 0 ? ["", "What to do:", ...advice] : []), ""].join("\n");
}

/** `result` is the worst of the findings. */
export function findingsDocument(findings: readonly Finding[]): unknown {
  const result = (["fail", "warn"] as const).find((outcome) =>
    findings.some((finding) => finding.outcome === outcome),
  );
  return { result: result ?? "ok", findings: findings.map((one) => ({ advice: null, ...one })) };
}
