import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { codeOf, messageOf } from "../system/errors.ts";
import { command, jsonFlag } from "./command.ts";
import { listenerUrl, urlFlag } from "./remote-service.ts";

const responseMsMax = 5000;

export const ready = command({
  summary: "check that a running service can store plants",
  examples: ["plant-store ready", "plant-store ready --url https://plants.example.org"],
  flags: {
    url: urlFlag("the base URL of the service (from --operator-listen, or --listen if that is off)"),
    json: jsonFlag,
  },
  settings: [settings.operatorListen, settings.listen],
  async run({ flags: { url: givenUrl, json }, sources }, terminal) {
    const config = readConfig(sources);
    const { operatorListen, listen, baseUrl } = config;
    // The public listener may require a client certificate; the operator listener never does.
    const path = operatorListen === undefined ? (baseUrl?.pathname ?? "") : "";
    const base = givenUrl?.href ?? `${listenerUrl(operatorListen ?? listen, config)}${path}`;
    const url = base.replace(/\/+$/, "");
    const problem = await whyUnready(`${url}/readyz`);
    if (json) terminal.printJson({ url, ready: problem === undefined, problem: problem ?? null });
    else if (problem === undefined) terminal.note(`${url} is ready.\n`);
    else terminal.err(`${url} is not ready: ${problem}\n`);
    return problem === undefined;
  },
});

async function whyUnready(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(responseMsMax) });
    // Whatever is there may be ready, but it is not the service at this URL.
    const location = response.headers.get("location");
    if (location !== null) return `it redirects to ${location}, which is not followed. Check the URL.`;
    const { status, error, message } = Object(await response.json().catch(() => undefined));
    if (response.ok && status === "ready") return undefined;
    return typeof error === "number" && typeof message === "string"
      ? message
      : `something else responded, with status ${response.status}. Check the URL, and that the service is running.`;
  } catch (error) {
    const reason = codeOf(error) || messageOf(error);
    return /CERT|SIGNATURE/.test(reason)
      ? `its certificate is not trusted (${messageOf(error)}). Set NODE_EXTRA_CA_CERTS to the certificate of its authority, or use a name from the certificate in --url.`
      : `no response (${reason}).`;
  }
}
