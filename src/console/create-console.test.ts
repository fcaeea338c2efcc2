import { afterEach, beforeEach, expect, test } from "bun:test";
import { eventually } from "../../test/support/eventually.ts";
import type { CallerJson } from "../operator/responses.ts";

// Imported without its types, which are those of a browser.
const { createConsole } = await import("./create-console.ts" as string);

const browserNames = ["document", "location", "history", "addEventListener", "removeEventListener"] as const;
const before = new Map(browserNames.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]));
const { fetch } = globalThis;
let shared: ReturnType<typeof createConsole>;
let answer: () => Response | Promise<Response>;

/** As much of a browser as a console needs to be created. */
beforeEach(() => {
  const window = new EventTarget();
  answer = () => Response.json({});
  Object.assign(globalThis, {
    document: Object.assign(new EventTarget(), { hidden: false }),
    location: new URL("http://127.0.0.1/plants?tag=fern"),
    addEventListener: window.addEventListener.bind(window),
    removeEventListener: window.removeEventListener.bind(window),
    history: {
      pushState: (_: unknown, __: string, to: string) =>
        Object.assign(globalThis, { location: new URL(to, "http://127.0.0.1") }),
    },
    fetch: async () => answer(),
  });
  shared = createConsole();
});

afterEach(() => {
  shared.close();
  globalThis.fetch = fetch;
  for (const [name, descriptor] of before) {
    if (descriptor === undefined) delete (globalThis as Record<string, unknown>)[name];
    else Object.defineProperty(globalThis, name, descriptor);
  }
});

const refusal = () => Response.json({ error: 40102, message: "Unknown token." }, { status: 401 });
const callerOf = (...scopes: CallerJson["scopes"]) =>
  ({ name: "ops", scopes, hasJwt: false }) as Partial<CallerJson> as CallerJson;

test("the router has the address, and reports each navigation", () => {
  const { router } = shared;
  expect(router.path).toBe("/plants");
  expect(router.query.get("tag")).toBe("fern");
  const paths: string[] = [];
  router.subscribe(() => paths.push(router.path));
  router.navigate("/tokens");
  expect(paths).toEqual(["/tokens"]);
});

test("the service's refusal of the token ends the session, and says why at the sign-in", async () => {
  const { api, session } = shared;
  session.signIn("first", callerOf("operator"));
  answer = refusal;
  await api.get("/api/tokens", {}).catch(() => {});
  expect(session.caller).toBeUndefined();
  expect(session.token).toBeUndefined();
  expect(session.notice).toContain("has expired or was revoked");
});

test("a late refusal of the last session's token does not end the next session", async () => {
  const { api, session } = shared;
  const late = Promise.withResolvers<Response>();
  answer = () => late.promise;
  session.signIn("first", callerOf("operator"));
  const request = api.get("/api/tokens", {}).catch(() => {});
  session.signOut();
  session.signIn("second", callerOf("operator"));
  late.resolve(refusal());
  await request;
  expect(session.token).toBe("second");
  expect(session.me.name).toBe("ops");
});

test("the scope plants:read is part of the operator's, and plants:create of none", () => {
  const { session } = shared;
  session.signIn("token", callerOf("operator:read"));
  expect(session.may("plants:read")).toBe(true);
  expect(session.may("operator")).toBe(false);
  session.signIn("token", callerOf("operator"));
  expect(session.may("operator:read")).toBe(true);
  expect(session.may("plants:create")).toBe(false);
});

test("a closed console polls no more", async () => {
  let runs = 0;
  shared.connection.poll(async () => {
    runs++;
    return 1;
  });
  await eventually(() => runs > 1);
  shared.close();
  const before = runs;
  await Bun.sleep(20);
  expect(runs).toBe(before);
});

test("a service that does not respond is pinged until it does", async () => {
  const { connection } = shared;
  connection.report(false);
  expect(connection.isLost).toBe(true);
  await eventually(() => !connection.isLost);
});
