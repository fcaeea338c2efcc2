import { describe, expect, test } from "bun:test";
import { mintSecret } from "../access/token-secret.ts";
import { Problem } from "../system/problem.ts";
import { minuteMs } from "../text/duration.ts";
import { databaseFlag, isDatabaseUrl, withoutPassword } from "./database.ts";
import { readAccessToken, readConfig, readServiceConfig, unknownVariables } from "./read-config.ts";

const read = (
  flags: Record<string, string> = {},
  environment: Record<string, string> = {},
  files: Record<string, string> = {},
) =>
  readServiceConfig({
    flags,
    environment,
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("as the system has it"), { code: "ENOENT" });
      return text;
    },
  });

const oidc = { "oidc-issuer": "https://id.example.org", "oidc-audience": "plants" };

test("a command may send a JWT, also where the service itself would accept JWTs", () => {
  const environment = { PLANT_STORE_ACCESS_TOKEN: "a.b.c" };
  expect(readAccessToken({ flags: oidc, environment, readFile: String })).toBe("a.b.c");
});

describe("settings", () => {
  test("have defaults", () => {
    const listen = { host: "127.0.0.1", port: 3000 };
    const unset = { databasePassword: undefined, rateLimit: undefined, tls: undefined, oidc: undefined };
    expect(read()).toMatchObject({ listen, bodyTimeoutMs: 10_000, presetTokens: [], ...unset });
  });

  test("come from flags, then from the environment, then from the defaults", () => {
    const environment = { PLANT_STORE_MAX_PENDING: "7", PLANT_STORE_LOG_LEVEL: "" };
    expect(read({}, environment).pendingMax).toBe(7);
    expect(read({ "max-pending": "9" }, environment).pendingMax).toBe(9);
    // An empty variable is one that is not set.
    expect(read({}, environment).logLevel).toBe("info");
  });

  test("accept addresses and rates in their notations", () => {
    expect(read({ listen: "[::1]:80" }).listen).toEqual({ host: "::1", port: 80 });
    expect(read({ listen: ":8080" }).listen).toEqual({ host: "0.0.0.0", port: 8080 });
    expect(read({ "rate-limit": "100/m" }).rateLimit).toEqual({ count: 100, perMs: minuteMs });
  });

  test.each(["http://localhost:8080/realms/x", "http://[::1]:1/", "https://ID.example.org/"])(
    "accept the issuer %s exactly as it is typed",
    (issuer) => {
      expect(read({ ...oidc, "oidc-issuer": issuer }).oidc?.issuer).toBe(issuer);
    },
  );

  const wrong: [Record<string, string>, Record<string, string>, string][] = [
    [{ listen: "3000" }, {}, "--listen must be HOST:PORT, such as 127.0.0.1:3000 or [::1]:3000, but is"],
    [{ listen: "localhost:70000" }, {}, "--listen must be HOST:PORT"],
    [{ listen: ":1", "operator-listen": "127.0.0.1:1" }, {}, "--listen and --operator-listen are the same"],
    [{}, { PLANT_STORE_BODY_TIMEOUT: "10" }, "PLANT_STORE_BODY_TIMEOUT must be a number with a unit"],
    [{ "body-timeout": "2h" }, {}, "--body-timeout must be a time from 1ms to 1h"],
    [{ "drain-delay": "30d" }, {}, '--drain-delay must be a time of at most 24d, such as 10s, but is "30d".'],
    [{ "rate-limit": "0/s" }, {}, "--rate-limit must be a count"],
    [{ "rate-limit": "5" }, {}, 'such as 100/s, or none, but is "5".'],
    [{ "operator-listen": "no" }, {}, 'or [::1]:3000, or off, but is "no".'],
    [{ "base-url": "ftp://x" }, {}, "--base-url must be an http or https URL"],
    [{ database: "mysql://me:hidden@x" }, {}, 'but is "mysql://me:***@x"'],
    [{ database: " postgres://me:hidden@x" }, {}, 'but is " postgres://me:***@x"'],
    [{ database: "postgres//me:hidden@x" }, {}, 'but is "postgres//me:***@x"'],
    [{ "trusted-proxies": "10.0.0.0/33" }, {}, "--trusted-proxies must be addresses or CIDR ranges"],
    [{ "operator-hosts": "example.org:443" }, {}, "--operator-hosts must be host names without port"],
    [{ "cors-origins": "https://example.org/" }, {}, "--cors-origins must be origins separated by commas"],
    [{ "allow-unsafe-database": "maybe" }, {}, "--allow-unsafe-database must be yes or no"],
    [{ "oidc-issuer": "http://id.example.org" }, {}, "--oidc-issuer must be an https URL"],
    [{ "oidc-issuer": "https://id.example.org/?a" }, {}, "--oidc-issuer must be an https URL"],
    [{ "base-url": "https://:hidden@example.org" }, {}, 'but is "https://:***@example.org"'],
    [{ "oidc-issuer": "https://me:hidden@id.example.org" }, {}, 'but is "https://me:***@id.example.org"'],
    [{ "oidc-issuer": "https://id.example.org" }, {}, "--oidc-issuer needs --oidc-audience"],
    [{ "oidc-audience": "plants" }, {}, "--oidc-audience needs --oidc-issuer"],
    [{ "oidc-client-id": "console" }, {}, "--oidc-client-id needs --oidc-issuer"],
    [{ ...oidc, "oidc-audience": "two words" }, {}, "--oidc-audience must be at most 255"],
    [{ ...oidc, "oidc-client-id": "a", "operator-listen": "off" }, {}, "--oidc-client-id is for the"],
    [oidc, { PLANT_STORE_ACCESS_TOKEN: "three.parts.of-base64url" }, "PLANT_STORE_ACCESS_TOKEN holds"],
    [{}, { PLANT_STORE_ACCESS_TOKEN: "short" }, "PLANT_STORE_ACCESS_TOKEN must hold a token of at least 20"],
    [{}, { PLANT_STORE_ACCESS_TOKEN: "has a space in it, alas!" }, "PLANT_STORE_ACCESS_TOKEN must hold"],
    [
      {},
      { PLANT_STORE_OPERATOR_TOKEN_FILE: "nowhere" },
      "PLANT_STORE_OPERATOR_TOKEN_FILE names nowhere, which cannot be read: no such file or directory.",
    ],
    [{}, { PLANT_STORE_ACCESS_TOKEN: "x", PLANT_STORE_ACCESS_TOKEN_FILE: "y" }, "are both set"],
  ];
  test.each(wrong)("are refused if they are %j and %j", (flags, environment, message) => {
    expect(() => read(flags, environment)).toThrow(Problem);
    expect(() => read(flags, environment)).toThrow(message);
  });

  test("are refused if a generated token has lost its end", () => {
    const truncated = mintSecret().slice(0, -3);
    expect(() => read({}, { PLANT_STORE_ACCESS_TOKEN: truncated })).toThrow(Problem);
    expect(() => read({}, { PLANT_STORE_ACCESS_TOKEN: truncated })).toThrow("its checksum is wrong");
  });
});

test("a database URL begins with its scheme; anything else is a path", () => {
  const texts = "postgres://x postgresql://x POSTGRES://x postgres data/postgres.db ./postgres:/x".split(" ");
  expect(texts.filter(isDatabaseUrl)).toEqual(texts.slice(0, 3));
});

describe("the database's password", () => {
  test("comes from a variable, or from a file that is read each time", () => {
    expect(read({}, { PLANT_STORE_DATABASE_PASSWORD: "hidden" })).toMatchObject({
      databasePassword: "hidden",
    });
    const files = { there: "hidden\n" };
    const { databasePassword } = read({}, { PLANT_STORE_DATABASE_PASSWORD_FILE: "there" }, files);
    expect((databasePassword as () => string)()).toBe("hidden");
    files.there = "changed\n";
    expect((databasePassword as () => string)()).toBe("changed");
  });

  const urls = [
    "postgres://me:hidden@host/plants",
    "postgres://me:hidden@den@host/plants",
    "postgres://host/plants?user=me&password=hidden&sslmode=require",
    "postgres://host/plants?PASSWORD=hidden",
    "postgres://host/plants?%70ass%77ord=hidden",
    "postgres://host/plants?sslmode=verify-full&sslpassword=hidden",
    "postgres://host/plants#password=hidden",
    "postgres://:hidden@host/plants",
    "postgres://me%3Ahidden@host/plants",
    "postgres://me:hidden%40host/plants",
    "postgres://me:hid?den@host/plants",
    "postgres://me:hid\nden@host/plants",
    "postgres:me:hidden@host/plants",
    " postgres://me:hidden@host/plants",
    "jdbc:postgresql://me:hidden@host/plants",
    "host=db dbname=/plants password=hidden",
    "host=db password = 'hid den' dbname=/plants",
  ];
  test.each(urls)("is not shown in %j", (database) => {
    const shown = withoutPassword(database);
    expect(shown).toContain("***");
    expect(shown).toContain("/plants");
    expect(shown).not.toMatch(/hid|den/);
  });

  const plain = "postgres://me@h1:5432,h2:5433/plants?passfile=/etc/pgpass&sslmode=verify-full";
  test.each(["data/plant-store.db", "C:\\data\\plants.db", plain])("need not be in %j", (database) =>
    expect(withoutPassword(database)).toBe(database),
  );
});

describe("preset tokens", () => {
  const secret = "a-preset-token-of-my-own+/=";

  test("come from a variable, or from a file without its line break, which is read once", () => {
    const [fromVariable] = read({}, { PLANT_STORE_ACCESS_TOKEN: secret }).presetTokens;
    // The file may be a pipe.
    const reads: string[] = [];
    const readFile = (path: string) => {
      reads.push(path);
      return `${secret}\n`;
    };
    const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: "pipe" };
    const [fromFile] = readServiceConfig({ flags: {}, environment, readFile }).presetTokens;
    expect(fromVariable).toEqual(fromFile as typeof fromVariable);
    expect(fromVariable).toMatchObject({ name: "preset-access", scopes: ["plants:create"] });
    expect(reads).toEqual(["pipe"]);
  });

  test("are not read by a command that does not need them", () => {
    const environment = { PLANT_STORE_ACCESS_TOKEN: "short", PLANT_STORE_OPERATOR_TOKEN_FILE: "unread" };
    const readFile = () => {
      throw new Error("it was read");
    };
    expect(() => readConfig({ flags: {}, environment, readFile })).not.toThrow();
  });

  test("are one caller with both scopes if they have the same secret", () => {
    const presets = (operator: string) => {
      const environment = { PLANT_STORE_ACCESS_TOKEN: secret, PLANT_STORE_OPERATOR_TOKEN: operator };
      return read({}, environment).presetTokens.map(({ name, scopes }) => [name, ...scopes]);
    };
    expect(presets(secret)).toEqual([["preset", "plants:create", "operator"]]);
    expect(presets(`other-${secret}`)).toEqual([
      ["preset-access", "plants:create"],
      ["preset-operator", "operator"],
    ]);
  });
});

test("an unknown PLANT_STORE_ variable is reported, unless Kubernetes sets it", () => {
  const environment = {
    PLANT_STORE_LISTN: "x",
    PLANT_STORE_SERVICE_HOST: "x",
    PLANT_STORE_PORT_3000_TCP_ADDR: "x",
    HOME: "x",
  };
  expect(unknownVariables(environment)).toEqual(["PLANT_STORE_LISTN"]);
});

test.each([
  ["data/plant-store.db", ""],
  ["/var/lib/a b.db", " --database '/var/lib/a b.db'"],
  ["postgres://me:secret@db/plants", " --database 'postgres://me@db/plants'"],
  ["postgres://db/plants?password=secret&user=me", " --database 'postgres://db/plants?user=me'"],
  ["postgres://db/plants?user=me&password=secret", " --database 'postgres://db/plants?user=me'"],
])("the flag for %s can be pasted, and has no password", (database, flag) => {
  expect(databaseFlag(database)).toBe(flag);
});
