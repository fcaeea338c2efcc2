// npm run bench:oidc
// Creates with a JWT as a share of those with a stored token, and good creates under floods of forged JWTs as a share of those
// without. All in one interleaved run, with one service and an identity provider on loopback. Creates for each CPU second of the
// service are printed too, since other work on the machine disturbs them less.
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { cpuSeconds, load, median, startOurs } from "./servers.ts";

interface Measured {
  readonly rate: number;
  readonly perCpuSecond: number;
}

const floors = { jwt: 0.9, flood: 0.8 };
const rounds = Number(process.argv[2] ?? 15);
const floodConnections = 64;
const good = { connections: 64, seconds: 1 };
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
  new SignJWT({ scope: "plants:create", client_id: "bench" })
    .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject("bench")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(key);
const jwt = await sign(privateKey, "key-1");
const forged = {
  "a forged signature": await sign(forgedKey, "key-1"),
  "an unknown key": await sign(forgedKey, "key-2"),
  "alg none": `${btoa('{"alg":"none","typ":"at+jwt"}').replace(/=+$/, "")}.${jwt.split(".")[1]}.`,
};

await using ours = await startOurs(["--oidc-issuer", issuer, "--oidc-audience", audience]);
let nextId = 1;
const run = async (token?: string): Promise<Measured> => {
  const startCpu = await cpuSeconds(ours.pid);
  const result = await load(ours, { ...good, firstId: nextId, ...(token === undefined ? {} : { token }) });
  nextId = result.nextId;
  return { rate: result.rate, perCpuSecond: result.answered / ((await cpuSeconds(ours.pid)) - startCpu) };
};
const underFlood = async (token: string): Promise<Measured> => {
  const flood = load(ours, {
    connections: floodConnections,
    seconds: good.seconds + 1,
    firstId: -1_000_000_000,
    mayRefuse: true,
    token,
  });
  await Bun.sleep(500);
  const measured = await run();
  if ((await flood).answered > 0) throw new Error("a forged token was accepted");
  return measured;
};

const shares: Record<string, Measured[]> = {};
for (let round = 0; round <= rounds; round++) {
  const own = await run();
  const measured: Record<string, Measured> = { "with a JWT": await run(jwt) };
  for (const [what, token] of Object.entries(forged))
    measured[`under a flood with ${what}`] = await underFlood(token);
  if (round === 0) continue;
  for (const [what, { rate, perCpuSecond }] of Object.entries(measured)) {
    shares[what] ??= [];
    shares[what].push({ rate: rate / own.rate, perCpuSecond: perCpuSecond / own.perCpuSecond });
  }
  console.error(`round ${round} of ${rounds}: ${Math.round(own.rate)}/s with our own token`);
}
for (const [what, values] of Object.entries(shares)) {
  const floor = what === "with a JWT" ? floors.jwt : floors.flood;
  const share = median(values.map(({ rate }) => rate));
  const perCpu = median(values.map(({ perCpuSecond }) => perCpuSecond));
  console.log(
    `creates ${what}: ${share.toFixed(2)} of the rate, ${perCpu.toFixed(2)} for each CPU second; floor ${floor}: ${share >= floor ? "fine" : "UNDER THE FLOOR"}`,
  );
  if (share < floor) process.exitCode = 1;
}
provider.stop(true);
