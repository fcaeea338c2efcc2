import { expect, test } from "bun:test";
import type { Caller } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { importRoutes } from "./imports.ts";

const asTheGate = { "WWW-Authenticate": 'Bearer realm="plant-store", error="invalid_token"' };
test.each([
  ["whose token is revoked", 2, Number.POSITIVE_INFINITY, asTheGate],
  ["of a service that stops", Number.POSITIVE_INFINITY, 3, {}],
])(
  "an import %s meanwhile ends after the row it has got to, and the next does not start",
  async (_, allowed, serving, headers) => {
    const target = {
      gate: { watch: () => () => allowed-- > 0 },
      rateLimit: new RateLimit({ count: 100, perMs: 1000 }),
      intake: {},
    };
    const [importing] = importRoutes(target as never, {} as never, 1000);
    const rows = Array.from({ length: 5 }, () => "not a plant\n").join("");
    const answers: unknown[] = [];
    const exchange = {
      query: new URLSearchParams(),
      header: () => undefined,
      refuseWhileDraining() {
        if (serving-- <= 0) throw new HttpError("closing");
      },
      body: async () => Buffer.from(rows),
      json: (answer: unknown) => answers.push(answer),
    };
    const caller: Caller = { name: "a", scopes: ["plants:create", "operator:read"], expiresAtMs: undefined };
    const run = async () => importing?.handle(exchange as unknown as Exchange, caller);
    await run();
    expect(answers).toMatchObject([{ outcomes: [{ error: 40002 }, { error: 40002 }] }]);
    await expect(run()).rejects.toMatchObject({ name: "HttpError", headers });
  },
);
