import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BrowserDriver, startProgram } from "./browser-driver.ts";
import { eventually, temporaryFolder } from "./harness.ts";
import { freePort } from "./postgres.ts";

// The toolbar of WebKitGTK's browser would not let its window be as narrow as a phone.
const narrowToolbar = `
  toolbar, headerbar, button, entry, image, label { min-width: 0; min-height: 0; padding: 0; margin: 0; border-width: 0; font-size: 1px; }
  image { -gtk-icon-transform: scale(0.1); }`;
const screen = "1600x1200x24";
const elementKey = "element-6066-11e4-a52e-4f735466cecf";

// biome-ignore lint/suspicious/noExplicitAny: the results of the protocol
type Result = any;

/** Debian's WebKitGTK, on a display of its own, over WebDriver. */
export async function startWebKit(): Promise<BrowserDriver> {
  const home = temporaryFolder();
  mkdirSync(join(home.path, ".config/gtk-3.0"), { recursive: true });
  writeFileSync(join(home.path, ".config/gtk-3.0/gtk.css"), narrowToolbar);
  const display = startProgram("Xvfb", ["-displayfd", "1", "-screen", "0", screen, "-nolisten", "tcp"]);
  const number = await display.said(/^(\d+)\n/);
  const port = await freePort();
  const driver = startProgram("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], {
    HOME: home.path,
    XDG_CONFIG_HOME: join(home.path, ".config"),
    // The page sees the language "C", which is not a language tag.
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    DISPLAY: `:${number}`,
    GDK_BACKEND: "x11",
  });
  const call = (method: string, path: string, body?: object): Promise<Result> =>
    send(`http://127.0.0.1:${port}${path}`, method, body);
  await eventually(() =>
    call("GET", "/status").then(
      () => true,
      () => !driver.isRunning,
    ),
  );
  const { sessionId } = await call("POST", "/session", { capabilities: {} });
  const post = (path: string, body: object) => call("POST", `/session/${sessionId}${path}`, body);
  const evaluate = async (expression: string) =>
    JSON.parse(
      (await post("/execute/sync", { script: `return JSON.stringify(${expression})`, args: [] })) ?? "null",
    );
  return {
    async open(url) {
      await post("/url", { url });
    },
    evaluate,
    async perform(actions) {
      await post("/actions", { actions });
    },
    async chooseFile(selector, path) {
      const found = await post("/element", { using: "css selector", value: selector });
      await post(`/element/${found[elementKey]}/value`, { text: path });
    },
    async resize(widthPx, heightPx) {
      await post("/window/rect", { x: 0, y: 0, width: widthPx, height: heightPx });
      await eventually(async () => (await evaluate("innerWidth")) === widthPx);
    },
    // WebDriver does not report them, so those that `DrivenPage` records are all there are.
    takeErrors: () => [],
    async [Symbol.asyncDispose]() {
      await call("DELETE", `/session/${sessionId}`).catch(() => {});
      await driver[Symbol.asyncDispose]();
      await display[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

async function send(url: string, method: string, body: object | undefined): Promise<Result> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as Result;
  if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
  return value;
}
