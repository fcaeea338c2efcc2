import { Gate } from "../../src/access/gate.ts";
import type { Token } from "../../src/access/token.ts";
import { digestOf, mintSecret } from "../../src/access/token-secret.ts";

export const secret = mintSecret();
export const token: Token = {
  id: "1",
  name: "greenhouse",
  digest: digestOf(secret),
  scopes: ["plants:create"],
  createdAtMs: 0,
  expiresAtMs: 1000,
  revokedAtMs: undefined,
  createdBy: "test",
  lastUsedAtMs: undefined,
};

/** A gate that knows the token, or these. */
export function gateOf(tokens = [token], presets: ConstructorParameters<typeof Gate>[0] = []) {
  const gate = new Gate(presets);
  gate.update(tokens);
  return {
    gate,
    admit: (nowMs: number, header = `Bearer ${secret}`) => gate.admit(header, nowMs),
  };
}
