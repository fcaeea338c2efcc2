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

export function ok(check: string, message: string): Finding {
  return { check, outcome: "ok", message };
}

export function warn(check: string, message: string, advice: string): Finding {
  return { check, outcome: "warn", message, advice };
}

export function fail(check: string, message: string, advice: string): Finding {
  return { check, outcome: "fail", message, advice };
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
