import { readFileSync, rmSync, statSync } from "node:fs";
import { codeOf, describeFileError } from "../system/errors.ts";
import { localOrigin } from "./local-user.ts";
import { creationEntry, type Minted, mintToken, type TokenStore } from "./tokens.ts";

/** How the first token reaches the operator: printed, in a file, or not at all, with the reason. */
export type FirstToken =
  | { readonly kind: "printed"; readonly secret: string }
  | { readonly kind: "in-file"; readonly file: string }
  | { readonly kind: "not-delivered"; readonly problem: string };

/** Where the first token goes: to the terminal, into a file, or nowhere. */
export type FirstTokenDelivery = "print" | FirstTokenFile | undefined;

export interface FirstTokenFile {
  readonly path: string;
  /** Creates the file, complete and for its owner alone, and replaces none. */
  readonly writeNew: (path: string, text: string) => void;
}

export interface FirstTokenOptions {
  readonly tokens: TokenStore;
  readonly delivery: FirstTokenDelivery;
  /** The flag that names the database to a command, with a space before it; empty if commands use it by themselves. */
  readonly databaseFlag: string;
}

export function mintFirstToken(): Minted {
  const fields = {
    name: "first",
    scopes: ["plants:create", "operator"],
    expiresAtMs: undefined,
    createdBy: localOrigin().actor,
  } as const;
  return mintToken(fields, Date.now());
}

/**
 * Stores the token of a store that has never had one, and delivers it. Undefined if there is a token already. After a failure,
 * whose outcome may be unknown, it may be called again with the same token.
 */
export async function issueFirstToken(
  { tokens, delivery, databaseFlag }: FirstTokenOptions,
  { token, secret }: Minted,
): Promise<FirstToken | undefined> {
  if ((await tokens.all()).length === 0) {
    // The secret is written before the token is stored: a stored token whose secret nobody has would be useless.
    const problem = delivery === "print" ? undefined : whySecretUnwritten(delivery, secret);
    if (problem !== undefined)
      return {
        kind: "not-delivered",
        problem: `There is no token yet, and ${problem}. Create one: plant-store token create --name NAME --scope operator --scope plants:create${databaseFlag}`,
      };
    await tokens.addFirst(token, creationEntry(token, localOrigin()));
  }

  // Another process may have been first.
  const isOurs = (await tokens.all()).some(({ digest }) => digest === token.digest);
  if (isOurs)
    return typeof delivery === "object"
      ? { kind: "in-file", file: delivery.path }
      : { kind: "printed", secret };
  if (typeof delivery === "object" && holds(delivery.path, secret)) rmSync(delivery.path, { force: true });
  return undefined;
}

/** Writes the secret to its file. Returns why it could not. */
function whySecretUnwritten(file: FirstTokenFile | undefined, secret: string): string | undefined {
  if (file === undefined) return "no --token-folder to write one to";
  const { path, writeNew } = file;
  try {
    writeNew(path, `${secret}\n`);
    return undefined;
  } catch (error) {
    const fileExists = codeOf(error) === "EEXIST";
    if (fileExists && holds(path, secret)) return undefined;
    const reason = fileExists ? "it exists already" : describeFileError(error);
    return `the file ${path} cannot be created for one: ${reason}`;
  }
}

function holds(path: string, secret: string): boolean {
  try {
    // Reading a pipe or a device that someone put there might not end.
    return statSync(path).isFile() && readFileSync(path, "utf8") === `${secret}\n`;
  } catch {
    return false;
  }
}
