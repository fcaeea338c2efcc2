import { describe, expect, test } from "bun:test";
import { Problem } from "../../system/problem.ts";
import { isLocal, parseDatabaseUrl } from "./database-url.ts";

describe("a database URL", () => {
  test("has hosts, a login and a database, each decoded", () => {
    expect(
      parseDatabaseUrl(
        "postgres://m%C3%A9:p%40s s%25%3A@db1,db2:6000,[::1]:6001/my%20pl%40nts?target_session_attrs=primary",
      ),
    ).toMatchObject({
      hosts: [
        { host: "db1", port: 5432, ssl: {} },
        { host: "db2", port: 6000, ssl: {} },
        { host: "::1", port: 6001, ssl: false },
      ],
      user: "mé",
      password: "p@s s%:",
      database: "my pl@nts",
    });
  });

  test("may omit nearly everything", () => {
    expect(parseDatabaseUrl("postgres://")).toMatchObject({
      hosts: [{ host: "localhost", port: 5432, ssl: false }],
      user: undefined,
      password: undefined,
      database: undefined,
    });
  });

  test("may name the folder of a socket, and have the login as options", () => {
    expect(parseDatabaseUrl("postgres://%2Fvar%2Frun/plants?user=me&password=it")).toMatchObject({
      hosts: [{ host: "/var/run" }],
      user: "me",
      password: "it",
      database: "plants",
    });
  });

  const certificate = "sslrootcert=test/certificates/ca.pem";
  const modes: [string, string, "none" | "anyone" | "authority" | "name"][] = [
    ["host", "", "name"],
    ["127.0.0.1", "", "none"],
    ["%2Fvar%2Frun", "", "none"],
    ["%2Fvar%2Frun", "sslmode=verify-full", "none"],
    ["127.0.0.1", "sslmode=require", "anyone"],
    ["127.0.0.1.example.org", "", "name"],
    ["host", "sslmode=disable", "none"],
    ["host", "sslmode=require", "anyone"],
    ["host", `sslmode=require&${certificate}`, "authority"],
    ["host", `sslmode=verify-ca&${certificate}`, "authority"],
    ["host", "sslmode=verify-full", "name"],
    ["host", "sslrootcert=system", "name"],
  ];
  const sslOf = (host: string, query: string) =>
    parseDatabaseUrl(`postgres://${host}/plants?${query}`).hosts[0]?.ssl;

  /** What a connection with these options verifies of the server. */
  function verifiedBy(ssl: ReturnType<typeof sslOf>) {
    if (ssl === undefined || ssl === false) return "none";
    if (ssl.rejectUnauthorized === false) return "anyone";
    return ssl.checkServerIdentity === undefined ? "name" : "authority";
  }

  test("verifies what its host and its options ask for", () => {
    expect(modes.map(([host, query]) => [host, query, verifiedBy(sslOf(host, query))])).toEqual(modes);
    for (const mode of ["require", "verify-ca"])
      expect(sslOf("host", `sslmode=${mode}&${certificate}`)).toMatchObject({
        ca: expect.stringContaining("CERTIFICATE"),
      });
  });

  test("with sslmode=allow or prefer is refused, with the reason", () => {
    for (const mode of ["allow", "prefer"])
      expect(() => parseDatabaseUrl(`postgres://host/plants?sslmode=${mode}`)).toThrow(
        `has sslmode=${mode}, which lets anyone between service and server turn TLS off`,
      );
  });

  test("with an unknown option is refused by its name, unless that may be part of a password", () => {
    expect(() => parseDatabaseUrl("postgres://me:x@host/plants?sslmod=require")).toThrow(/option sslmod,/);
    const unescaped = "postgres://me@host/plants?x=pa?secret@host/plants";
    expect(() => parseDatabaseUrl(unescaped)).toThrow("has an option that is none of");
  });

  const wrong = [
    "postgres://a b:c@host:x/plants",
    "postgres://me:secret@host:65536/plants",
    "postgres://me:secret@host,other:0/plants",
    "postgres://me:se%cret@host/plants",
    "postgres://me:secret@host/plants?sslmode=sometimes",
    "postgres://me:secret@host/plants?sslcert=x",
    "postgres://me:secret@host/plants?sslmode=verify-ca",
    "postgres://me:secret@host/plants?sslmode=verify-ca&sslrootcert=system",
    "postgres://me:secret@host/plants?sslmode=require&sslrootcert=system",
    "postgres://me:secret@host/plants?sslrootcert=missing.pem",
    "postgres://me:secret@host/pl%FFants",
    "postgres://me:secret@host/plants?target_session_attrs=standby",
    "postgres://me:secret@host/plants?channel_binding=maybe",
    "postgres://me:pa?secret@host/plants",
    "postgres://me:secret@more@host/plants",
  ];
  test("that is wrong is refused, without its password", () => {
    for (const url of wrong) {
      expect(() => parseDatabaseUrl(url), url).toThrow(Problem);
      expect(() => parseDatabaseUrl(url), url).not.toThrow(/se%?cret/);
    }
  });
});

test("an address is local if it is loopback", () => {
  const peers = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "::2", "1127.0.0.1", ""];
  expect(peers.filter(isLocal)).toEqual(peers.slice(0, 4));
});
