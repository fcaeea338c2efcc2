import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BrowserDriver, startProgram } from "./browser-driver.ts";
import { temporaryFolder } from "./harness.ts";

// Firefox calls several hosts of its maker. A proxy that refuses every connection keeps it on this machine, for which no proxy
// is used.
const preferences = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.trr.mode": 5,
  "network.dns.disablePrefetch": true,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "ui.prefersReducedMotion": 1,
};

interface LogEntry {
  readonly level: string;
  readonly text: string | null;
}

/** Debian's Firefox, without a window, over WebDriver BiDi. */
export async function startFirefox(): Promise<BrowserDriver> {
  const profile = temporaryFolder();
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile.path, "user.js"), lines.join(""));
  const args = ["--headless", "--no-remote", "--profile", profile.path, "--remote-debugging-port=0"];
  const program = startProgram("firefox-esr", args, { HOME: profile.path });
  const errors: string[] = [];
  const address = await program.said(/WebDriver BiDi listening on (ws:\S+)/);
  const { call, close } = await connect(`${address}/session`, ({ level, text }) => {
    if (level === "error") errors.push(text ?? "");
  });
  await call("session.new", { capabilities: {} });
  await call("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await call("browsingContext.getTree", {});
  const context = contexts[0].context;
  const evaluate = async (expression: string) => {
    const evaluated = await call("script.evaluate", {
      expression,
      target: { context },
      awaitPromise: true,
    });
    if (evaluated.type === "exception") throw new Error(evaluated.exceptionDetails.text);
    return evaluated.result;
  };
  return {
    async open(url) {
      await call("browsingContext.navigate", { context, url, wait: "complete" });
    },
    evaluate: async (expression) =>
      JSON.parse((await evaluate(`JSON.stringify(${expression})`)).value ?? "null"),
    async perform(actions) {
      await call("input.performActions", { context, actions });
    },
    async chooseFile(selector, path) {
      const { sharedId } = await evaluate(`document.querySelector(${JSON.stringify(selector)})`);
      await call("input.setFiles", { context, element: { sharedId }, files: [path] });
    },
    async resize(width, height) {
      await call("browsingContext.setViewport", { context, viewport: { width, height } });
    },
    takeErrors: () => errors.splice(0),
    async [Symbol.asyncDispose]() {
      close();
      await program[Symbol.asyncDispose]();
      profile[Symbol.dispose]();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the results of the protocol
type Result = any;

async function connect(url: string, onEntry: (entry: LogEntry) => void) {
  const socket = new WebSocket(url);
  const pending = new Map<number, PromiseWithResolvers<Result>>();
  let lastId = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.type === "event") return onEntry(message.params);
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.type === "error") waiting?.reject(new Error(`${message.error}: ${message.message}`));
    else waiting?.resolve(message.result);
  };
  socket.onclose = () => {
    for (const waiting of pending.values()) waiting.reject(new Error("Firefox closed the connection."));
  };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const call = (method: string, params: object): Promise<Result> => {
    const waiting = Promise.withResolvers<Result>();
    pending.set(++lastId, waiting);
    socket.send(JSON.stringify({ id: lastId, method, params }));
    return waiting.promise;
  };
  return { call, close: () => socket.close() };
}
