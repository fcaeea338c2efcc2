// What is expensive to start, once for a whole run of the tests: scripts/run-tests.js runs this beside them. A server starts when
// the first test asks for its address, and all of them end with the run, whose end closes standard input.
import { chromium } from "playwright-core";
import { chromiumOptions } from "./browser.ts";
import { startPostgres } from "./postgres.ts";

const servers = new AsyncDisposableStack();
// Ctrl-C reaches this process too, and the tests still use its servers.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});

const start: Record<string, () => Promise<string>> = {
  async postgres() {
    const server = await startPostgres({ settings: { max_connections: "300", autovacuum: "off" } });
    return String(servers.use(server).port);
  },
  async chromium() {
    const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
    const server = await chromium.launchServer({ ...chromiumOptions(), ...signals, host: "127.0.0.1" });
    servers.defer(() => server.close());
    return server.wsEndpoint();
  },
};
const addresses = new Map<string, Promise<string>>();

const desk = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  async fetch({ url }) {
    const name = new URL(url).pathname.slice(1);
    const address = addresses.get(name) ?? start[name]?.();
    if (address === undefined) return new Response(null, { status: 404 });
    addresses.set(name, address);
    return new Response(await address);
  },
});
servers.defer(() => desk.stop(true));
console.log(desk.url.href);
await Bun.stdin.text();
await servers.disposeAsync();
process.exit();
