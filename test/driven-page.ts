import type { BrowserDriver } from "./browser-driver.ts";

export const keys = { enter: "\uE007", escape: "\uE00C", tab: "\uE004" } as const;

const waitMsMax = 60_000;
const pollMs = 30;
const textCharactersMax = 600;

/** Finds a visible element by selector and name: in the dialog that is open, if one is. */
const find = `(selector, isNamed) => {
  const nameOf = (element) =>
    (element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent).replace(/\\s+/g, " ").trim();
  const root = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
  return [...root.querySelectorAll(selector)].find((element) => element.checkVisibility() && isNamed(nameOf(element)));
}`;

const recordErrors = `void (globalThis.recordedErrors ??= (() => {
  const recorded = [];
  const { error } = console;
  console.error = (...args) => {
    recorded.push(args.map(String).join(" "));
    error.apply(console, args);
  };
  addEventListener("error", ({ message }) => recorded.push(message));
  addEventListener("unhandledrejection", ({ reason }) => recorded.push(String(reason)));
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    recorded.push(violatedDirective + " refused " + blockedURI));
  return recorded;
})())`;

/** A page that is used as a person would: by what can be seen on it, with mouse and keyboard. */
export class DrivenPage {
  readonly driver: BrowserDriver;
  readonly #origin: string;

  constructor(driver: BrowserDriver, origin: string) {
    this.driver = driver;
    this.#origin = origin;
  }

  async open(path: string): Promise<void> {
    await this.driver.open(this.#origin + path);
    await this.recordErrors();
  }

  /** Goes to a page of the console as its links do, without a load, so that no error is missed. */
  async go(path: string): Promise<void> {
    await this.driver.evaluate(
      `void (history.pushState(null, "", ${JSON.stringify(path)}), dispatchEvent(new PopStateEvent("popstate")))`,
    );
  }

  /** Errors of the page from now on, if the browser does not report them all by itself. */
  recordErrors(): Promise<unknown> {
    return this.driver.evaluate(recordErrors);
  }

  /** What was wrong on the page since the last call: exceptions, logged errors, violations of the content policy. */
  async takeErrors(): Promise<string[]> {
    const recorded = await this.driver.evaluate<string[] | null>("globalThis.recordedErrors?.splice(0)");
    return [...this.driver.takeErrors(), ...(recorded ?? [])];
  }

  evaluate<T>(expression: string): Promise<T> {
    return this.driver.evaluate(expression);
  }

  /** Waits until the expression is neither false nor empty, and returns it. */
  async until<T>(expression: string, what = expression): Promise<T> {
    const deadlineMs = performance.now() + waitMsMax;
    for (;;) {
      const value = await this.driver.evaluate<T>(expression);
      if (value) return value;
      if (performance.now() > deadlineMs) throw new Error(await this.#missing(what));
      await Bun.sleep(pollMs);
    }
  }

  /** Waits for a visible element with that text in it, and returns all of its text. */
  see(selector: string, text = ""): Promise<string> {
    const element = `(${find})(${JSON.stringify(selector)}, (name) => name.includes(${JSON.stringify(text)}))`;
    return this.until(`${element}?.textContent || undefined`, `${selector} with "${text}"`);
  }

  count(selector: string): Promise<number> {
    return this.driver.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
  }

  /** Clicks the element of that name, once it no longer moves and nothing covers it. */
  async click(selector: string, name?: string): Promise<void> {
    await this.#press(await this.#middleOf(selector, name));
  }

  async hover(selector: string): Promise<void> {
    await this.#point(await this.#middleOf(selector));
  }

  /** Replaces the text in the field with that label. */
  async fill(label: string, text: string): Promise<void> {
    await this.click("input", label);
    await this.driver.evaluate("document.activeElement.select?.()");
    await this.type(text);
  }

  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    await this.driver.perform([{ type: "key", id: "keyboard", actions }]);
  }

  /** Waits until the page is drawn as it is now: the chart resizes in the next frame. */
  async draw(): Promise<void> {
    await this.driver.evaluate(
      "void requestAnimationFrame(() => requestAnimationFrame(() => (globalThis.isDrawn = true)))",
    );
    await this.until("globalThis.isDrawn", "a new frame");
    await this.driver.evaluate("void delete globalThis.isDrawn");
  }

  async #middleOf(selector: string, name?: string): Promise<Point> {
    const isNamed = name === undefined ? "() => true" : `(name) => name === ${JSON.stringify(name)}`;
    const middle = `(() => {
      const element = (${find})(${JSON.stringify(selector)}, ${isNamed});
      if (element === undefined || element.disabled) return;
      element.scrollIntoView({ block: "nearest", inline: "nearest" });
      const box = element.getBoundingClientRect();
      const [x, y] = [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
      return element.contains(document.elementFromPoint(x, y)) ? { x, y } : undefined;
    })()`;
    for (;;) {
      const before = await this.until<Point>(middle, `${selector} ${name ?? ""} to click on`);
      await Bun.sleep(pollMs);
      const after = await this.until<Point>(middle, `${selector} ${name ?? ""} to click on`);
      if (before.x === after.x && before.y === after.y) return after;
    }
  }

  #press(at: Point): Promise<void> {
    return this.#point(at, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 });
  }

  #point(at: Point, ...then: readonly object[]): Promise<void> {
    const actions = [{ type: "pointerMove", ...at, duration: 0 }, ...then];
    return this.driver.perform([
      { type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions },
    ]);
  }

  async #missing(what: string): Promise<string> {
    const text = await this.driver.evaluate<string>("location.pathname + '\\n' + document.body.innerText");
    return `Waited ${waitMsMax / 1000} s for ${what}. The page:\n${text.slice(0, textCharactersMax)}`;
  }
}

interface Point {
  readonly x: number;
  readonly y: number;
}
