/**
 * The address of a server that the whole run shares (shared-servers.ts), started when the first test asks for it. Undefined
 * in a run of files by name: then each starts its own.
 */
export async function sharedServerAddress(name: "postgres" | "chromium"): Promise<string | undefined> {
  const servers = process.env["PLANT_STORE_TEST_SERVERS"];
  if (servers === undefined) return undefined;
  const response = await fetch(servers + name);
  if (!response.ok) throw new Error(`The run has no ${name}: ${await response.text()}`);
  return response.text();
}
