// npm run bench:oidc [-- ROUNDS]
// Creates with a JWT as a share of those with a preset token; and, while 1,300 connections send forged JWTs, creates as a share of
// those without, and how 24 clients with a new, valid JWT fare. All in one interleaved run, with one service and an identity provider
// on loopback. Creates for each CPU second of the service are printed too, since other work on the machine disturbs them less.
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { cpuSeconds, type LoadOptions, load, median, startOurs } from "./servers.ts";

interface Measured {
  readonly rate: number;
  readonly perCpuSecond: number;
}

/** What became of the clients with a new JWT. */
interface Newcomers {
  readonly accepted: number;
  readonly slowestMs: number;
}

const jwtFloor = 0.9;
const floodFloor = 0.8;
const newcomerMsMax = 1000;
const newcomers = 24;
const rounds = Number(process.argv[2] ?? 15);
const good = { connections: 64, seconds: 2 };
const floodConnections = 1300;
// The connections are open and the first tokens are waiting.
const floodBeforeMs = 1000;
// The creates have started.
const newcomersAfterMs = 500;
const audience = "https://plants.example.org";

const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
const { privateKey: forgedKey } = await generateKeyPair("RS256");
const jwk = { ...(await exportJWK(publicKey)), kid: "key-1", alg: "RS256", use: "sig" };
const provider = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }): Response =>
    Response.json(url.endsWith("/jwks") ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/jwks` }),
});
const issuer: string = `http://127.0.0.1:${provider.port}`;
const sign = (key: CryptoKey, kid: string) =>
  new SignJWT({ scope: "plants:create", client_id: "bench", jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject("bench")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(key);
const jwt = await sign(privateKey, "key-1");
const forged = await sign(forgedKey, "key-1");
const unknownKey = await sign(forgedKey, "key-2");
const unsigned = `${btoa('{"alg":"none","typ":"at+jwt"}').replace(/=+$/, "")}.${jwt.split(".")[1]}.`;
const limited = "1,000 forged RS256 JWTs per second";
const floods: Record<string, Pick<LoadOptions, "token" | "rate">> = {
  [limited]: { token: forged, rate: 1000 },
  "forged RS256 JWTs without limit": { token: forged },
  "JWTs of an unknown key without limit": { token: unknownKey },
  "JWTs with alg none without limit": { token: unsigned },
};

await using ours = await startOurs(["--oidc-issuer", issuer, "--oidc-audience", audience]);
let nextId = 1;

async function run(token?: string): Promise<Measured> {
  const startCpu = await cpuSeconds(ours.pid);
  const result = await load(ours, { ...good, firstId: nextId, ...(token !== undefined && { token }) });
  nextId = result.nextId;
  return { rate: result.rate, perCpuSecond: result.answered / ((await cpuSeconds(ours.pid)) - startCpu) };
}

async function admitNewcomers(): Promise<Newcomers> {
  const jwts = await Promise.all(Array.from({ length: newcomers }, () => sign(privateKey, "key-1")));
  const startMs = performance.now();
  const took = await Promise.all(
    jwts.map(async (token, index) => {
      const response = await fetch(`http://127.0.0.1:${ours.port}/plants`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          Connection: "close",
        },
        body: JSON.stringify({ id: -2 - index, name: "by a newcomer" }),
      }).catch(() => undefined);
      return response?.status === 200 ? performance.now() - startMs : undefined;
    }),
  );
  const accepted = took.filter((ms) => ms !== undefined);
  return { accepted: accepted.length, slowestMs: Math.max(...accepted) };
}

async function underFlood(flood: Pick<LoadOptions, "token" | "rate">): Promise<Measured & Newcomers> {
  const flooded = load(ours, {
    connections: floodConnections,
    seconds: floodBeforeMs / 1000 + good.seconds + 1,
    firstId: -1_000_000_000,
    mayRefuse: true,
    ...flood,
  });
  await Bun.sleep(floodBeforeMs);
  const creating = run();
  await Bun.sleep(newcomersAfterMs);
  const admitted = await admitNewcomers();
  const measured = await creating;
  if ((await flooded).answered > 0) throw new Error("a forged token was accepted");
  return { ...measured, ...admitted };
}

const withJwt: Measured[] = [];
const underFloods: Record<string, (Measured & Newcomers)[]> = {};
for (let round = 0; round <= rounds; round++) {
  const own = await run();
  const share = ({ rate, perCpuSecond }: Measured): Measured => ({
    rate: rate / own.rate,
    perCpuSecond: perCpuSecond / own.perCpuSecond,
  });
  const jwtShare = share(await run(jwt));
  if (round > 0) withJwt.push(jwtShare);
  for (const [what, flood] of Object.entries(floods)) {
    const measured = await underFlood(flood);
    if (round === 0) continue;
    underFloods[what] ??= [];
    underFloods[what].push({ ...measured, ...share(measured) });
  }
  console.error(`round ${round} of ${rounds}: ${Math.round(own.rate)}/s with a preset token`);
}

function report(what: string, values: readonly Measured[], floor: number | undefined): void {
  const share = median(values.map(({ rate }) => rate));
  const perCpu = median(values.map(({ perCpuSecond }) => perCpuSecond));
  const isLow = floor !== undefined && share < floor;
  const verdict = floor === undefined ? "no floor" : `floor ${floor}: ${isLow ? "UNDER THE FLOOR" : "fine"}`;
  console.log(
    `creates ${what}: ${share.toFixed(2)} of the rate, ${perCpu.toFixed(2)} for each CPU second; ${verdict}`,
  );
  if (isLow) process.exitCode = 1;
}

report("with a JWT", withJwt, jwtFloor);
for (const [what, values] of Object.entries(underFloods)) {
  report(`under ${what}`, values, what === limited ? floodFloor : undefined);
  const accepted = Math.min(...values.map((value) => value.accepted));
  const slowestMs = Math.max(...values.map((value) => value.slowestMs));
  console.log(
    `  new, valid JWTs: at least ${accepted} of ${newcomers} got 200, the last within ${Math.round(slowestMs)} ms`,
  );
  if (what === limited && (accepted < newcomers || slowestMs > newcomerMsMax)) process.exitCode = 1;
}
provider.stop(true);
