import { describe, expect, test } from "bun:test";
import { DatabaseProblem, isDatabaseUrl, parseDatabaseUrl } from "./database-url.ts";

describe("a database URL", () => {
  test("is distinguished from a path", () => {
    expect(["postgres://x", "postgresql://x/y", "POSTGRES://x"].every(isDatabaseUrl)).toBe(true);
    expect(["postgres", "data/postgres.db", "./postgres:/x"].some(isDatabaseUrl)).toBe(false);
  });

  test("has hosts, a login and a database, each decoded", () => {
    expect(
      parseDatabaseUrl(
        "postgres://me:p%40ss%3A@db1,db2:6000,[::1]:6001/my%20plants?target_session_attrs=primary",
      ),
    ).toMatchObject({
      hosts: [
        { host: "db1", port: 5432 },
        { host: "db2", port: 6000 },
        { host: "::1", port: 6001 },
      ],
      user: "me",
      password: "p@ss:",
      database: "my plants",
      tls: { use: "prefer" },
    });
  });

  test("may omit nearly everything", () => {
    expect(parseDatabaseUrl("postgres://")).toMatchObject({
      hosts: [{ host: "localhost", port: 5432 }],
      user: undefined,
      password: undefined,
      database: undefined,
    });
  });

  test("may name the folder of a socket, and the login as options", () => {
    expect(parseDatabaseUrl("postgres://%2Fvar%2Frun/plants?user=me&password=it")).toMatchObject({
      hosts: [{ host: "/var/run" }],
      user: "me",
      password: "it",
    });
  });

  const modes: [string, string, boolean, boolean][] = [
    ["", "prefer", false, false],
    ["?sslmode=disable", "never", false, false],
    ["?sslmode=allow", "allow", false, false],
    ["?sslmode=require", "always", false, false],
    ["?sslmode=verify-ca", "always", true, false],
    ["?sslmode=verify-full", "always", true, true],
  ];
  for (const [query, use, verifies, namesMatter] of modes) {
    test(`with ${query || "no sslmode"} uses TLS as libpq would`, () => {
      const { tls } = parseDatabaseUrl(`postgres://host/plants${query}`);
      expect([tls.use, tls.options.rejectUnauthorized ?? false]).toEqual([use as never, verifies]);
      expect(use !== "never" && tls.options.checkServerIdentity === undefined).toBe(namesMatter);
    });
  }

  test("may have the options that managed providers put there", () => {
    const query =
      "channel_binding=require&application_name=garden&connect_timeout=10&options=endpoint%3Dep-1&target_session_attrs=any&sslmode=allow";
    expect(parseDatabaseUrl(`postgres://host/plants?${query}`)).toMatchObject({
      channelBinding: "require",
      applicationName: "garden",
      connectMsMax: 10_000,
      options: "endpoint=ep-1",
      tls: { use: "allow" },
      warnings: [],
    });
    const { warnings } = parseDatabaseUrl("postgres://host/plants?gssencmode=disable&sslnegotiation=direct");
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).toMatch(/gssencmode.*sslnegotiation/);
  });

  test("with an unknown option is refused by its name, unless that may be part of a password", () => {
    expect(() => parseDatabaseUrl("postgres://me:x@host/plants?sslmod=require")).toThrow(/option sslmod,/);
    const unescaped = "postgres://me@host/plants?x=pa?secret@host/plants";
    expect(() => parseDatabaseUrl(unescaped)).toThrow("has an option that is none of");
  });

  const wrong = [
    "postgres://a b:c@host:x/plants",
    "postgres://host:99999999/plants",
    "postgres://me:secret@host:65536/plants",
    "postgres://me:secret@host,other:0/plants",
    "postgres://me:se%cret@host/plants",
    "postgres://me:secret@host/plants?target=any",
    "postgres://me:secret@host/plants?sslmode=sometimes",
    "postgres://me:secret@host/plants?sslcert=x",
    "postgres://me:secret@host/plants?target_session_attrs=standby",
    "postgres://me:secret@host/plants?connect_timeout=soon",
    "postgres://me:secret@host/plants?channel_binding=maybe",
    "postgres://me:pa?secret@host/plants",
    "postgres://me:secret@more@host/plants",
  ];
  for (const url of wrong) {
    test(`such as ${url} is refused, without its password`, () => {
      expect(() => parseDatabaseUrl(url)).toThrow(DatabaseProblem);
      expect(() => parseDatabaseUrl(url)).not.toThrow(/se%?cret/);
    });
  }
});
