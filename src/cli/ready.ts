import { readConfig } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/values.ts";
import { publicUrl } from "../http/listen-address.ts";
import { parseFlag } from "./arguments.ts";
import type { Command } from "./command.ts";
import { escapeInvisible } from "./terminal.ts";

const timeoutMs = 5000;

export const ready: Command = {
  usage: "ready",
  summary: "check whether a running service can store plants",
  examples: ["plant-store ready", "plant-store ready --url https://plants.example.org"],
  flags: {
    url: { placeholder: "URL", help: "its base URL (from --operator-listen, or --listen if that is off)" },
  },
  settings: ["operatorListen", "listen"],
  async run(args, terminal) {
    const { operatorListen, listen, tls, baseUrl } = readConfig(args.sources);
    // The public listener may require a client certificate; the operator listener never does.
    const path = operatorListen === undefined ? (baseUrl?.pathname ?? "") : "";
    const own = publicUrl(undefined, { ...(operatorListen ?? listen), secure: tls !== undefined });
    const base = parseFlag(args, "url", parseBaseUrl)?.href ?? `${own}${path}`;
    const url = base.replace(/\/+$/, "");
    const problem = await whyUnready(`${url}/readyz`);
    if (problem === undefined) terminal.note(`${url} is ready.\n`);
    else terminal.err(`${url} is not ready: ${problem}\n`);
    return problem === undefined ? 0 : 1;
  },
};

async function whyUnready(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const { status, error, message } = parseAnswer(await response.text());
    if (response.ok && status === "ready") return undefined;
    return typeof error === "number" && typeof message === "string"
      ? escapeInvisible(message)
      : `a proxy or another program responded, with status ${response.status}. Check the URL, and whether the service runs.`;
  } catch (error) {
    return describeFailure(error as NodeJS.ErrnoException);
  }
}

function parseAnswer(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function describeFailure({ name, code, message }: NodeJS.ErrnoException): string {
  if (name === "TimeoutError") return `no response within ${timeoutMs / 1000} s.`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "its certificate is for another name. Set --url to a name in the certificate.";
  return /CERT|SIGNATURE/.test(code ?? "")
    ? `its certificate is not trusted (${message}). Set NODE_EXTRA_CA_CERTS to the file of its authority.`
    : `no response (${code ?? message}).`;
}
