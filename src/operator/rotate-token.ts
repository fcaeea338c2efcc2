import { findPreset } from "../access/gate.ts";
import { rotateToken as rotate } from "../access/tokens.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { orWrongParameter, pathParameter, readBody, readText } from "./parameters.ts";
import { schemas } from "./schemas.ts";
import {
  findToken,
  isoTime,
  latestExpiryMs,
  originOf,
  presentToken,
  readDuration,
  type TokenParts,
} from "./tokens.ts";

const overlapDefault = "1h";

export const rotateToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens/{id}/rotate",
  scope: "operator",
  operation: {
    operationId: "rotateToken",
    tags: ["tokens"],
    summary: "Replaces a token's secret; the old one remains valid for a while.",
    parameters: [pathParameter("id", "The token's id.")],
    requestBody: { required: false, content: jsonContent("RotateRequest") },
    success: { status: 201, description: "The new token and its secret.", content: jsonContent("Minted") },
    errors: ["no-such-token"],
  },
  handler: (parts) => async (exchange, caller) => {
    const { id } = await findToken(parts, exchange.parameter);
    const overlap = readText(await readBody(exchange, schemas.RotateRequest), "overlap") ?? overlapDefault;
    const overlapMs = readDuration(parts, "overlap", overlap) ?? 0;
    const nowMs = Date.now();
    const { token, secret, ending } = await orWrongParameter(
      rotate(
        parts.tokens,
        id,
        { overlapMs, expiresAtMsMax: latestExpiryMs(caller) },
        originOf(exchange, caller),
        nowMs,
      ),
    );
    await parts.tokensChanged();
    const oldUntil = isoTime(Math.max(...ending.map(({ expiresAtMs }) => expiresAtMs)));
    const alsoPreset = findPreset(ending, parts.presets())?.name;
    exchange.json({ token: presentToken(token, nowMs), secret, oldUntil, alsoPreset }, 201);
  },
};
