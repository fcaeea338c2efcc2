import { readConfig } from "../config/read-config.ts";
import { publicUrl } from "../http/listen-address.ts";
import type { Command } from "./command.ts";
import { escapeInvisible, UsageError } from "./terminal.ts";

const timeoutMs = 5000;

export const ready: Command = {
  usage: "ready",
  summary: "check whether a running service can store plants",
  examples: ["plant-store ready", "plant-store ready --url https://plants.example.org"],
  flags: { url: { placeholder: "URL", help: "its base URL (from --listen)" } },
  settings: ["listen"],
  async run(args, terminal) {
    const { listen, tlsCert, baseUrl } = readConfig(args.sources);
    const own = publicUrl(undefined, { ...listen, secure: tlsCert !== undefined });
    const base = args.value("url") ?? `${own}${baseUrl?.pathname.replace(/\/+$/, "") ?? ""}`;
    if (!/^https?:/i.test(base) || !URL.canParse(base))
      throw new UsageError(`--url must be an http or https URL, but is ${escapeInvisible(base)}`);
    const problem = await whyUnready(`${base.replace(/\/+$/, "")}/readyz`);
    if (problem === undefined) terminal.note(`${base} is ready.\n`);
    else terminal.err(`${base} is not ready: ${problem}\n`);
    return problem === undefined ? 0 : 1;
  },
};

async function whyUnready(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (response.ok) return undefined;
    const { message } = (await response.json()) as { message?: unknown };
    return escapeInvisible(String(message));
  } catch (error) {
    const timedOut = error instanceof Error && error.name === "TimeoutError";
    return timedOut ? `no response within ${timeoutMs / 1000} s.` : "it cannot be reached.";
  }
}
