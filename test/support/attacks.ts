// What strangers send to hold connections, and how the clients beside them do.
import { shellArguments, start, untilListening } from "./command.ts";
import type { Flood } from "./flood.ts";
import { inSeconds, type startProvider } from "./identity-provider.ts";
import { rawPost } from "./raw-http.ts";
import { accessToken, bothTokensEnvironment, operatorToken } from "./tokens.ts";

export type Provider = Awaited<ReturnType<typeof startProvider>>;
export type AttackText = Pick<Flood, "text" | "responses" | "trickle">;

export function wrongTokens(pipelined: number): AttackText {
  return { text: createWith("wrong-token-0123456789", 1).repeat(pipelined), responses: pipelined };
}

/** The right header, key, issuer, audience and expiry, and a wrong signature. */
export async function forgedJwts(provider: Provider, pipelined: number): Promise<AttackText> {
  const jwt = await provider.sign({ exp: inSeconds(3600) });
  const [head, claims, signature = ""] = jwt.split(".");
  const reversed = [...signature].toReversed().join("");
  const text = createWith(`${head}.${claims}.${reversed}`, 1);
  return { text: text.repeat(pipelined), responses: pipelined };
}

export async function unknownKeys(provider: Provider, pipelined: number): Promise<AttackText> {
  const jwt = await provider.sign({ exp: inSeconds(3600) }, { kid: "unknown" });
  return { text: createWith(jwt, 1).repeat(pipelined), responses: pipelined };
}

/** With a valid token. */
export function slowBodies(): AttackText {
  const whole = rawPost(`{"id":1,"name":"${"x".repeat(1000)}"}`);
  return { text: whole.slice(0, -900), responses: 0, trickle: "x" };
}

export const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

export const whoAmI = `GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;

/** A create with a JWT that nobody has sent before. */
export async function createWithNewJwt(provider: Provider, id: number): Promise<string> {
  return createWith(await provider.sign({ exp: inSeconds(3600), jti: crypto.randomUUID() }), id);
}

function createWith(token: string, id: number): string {
  return rawPost(`{"id":${id},"name":"n"}`).replace(accessToken, token);
}

/** A service with so many file descriptors, which limit its connections. */
export function serveWithin(descriptors: number, folder: string, database: string, provider: Provider) {
  const flags = Object.entries(provider.flags).flatMap(([name, value]) => [`--${name}`, value]);
  const args = ["serve", "--database", database, ...flags];
  const shell = shellArguments(`ulimit -n ${descriptors}; exec "$@"`, args);
  return untilListening(start("sh", shell, { folder, environment: bothTokensEnvironment }));
}
