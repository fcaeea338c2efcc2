import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf, messageOf } from "../system/errors.ts";
import { localOrigin } from "./local-user.ts";
import { creationEntry, type Minted, mintToken, type TokenStore } from "./tokens.ts";

/** How the first token reaches the operator: printed, in a file, or not at all, with the reason. */
export type FirstToken =
  | { readonly secret: string }
  | { readonly file: string }
  | { readonly problem: string };

/** `print`, the path of a file to write, or undefined if there is neither. */
export type FirstTokenDelivery = "print" | { readonly file: string } | undefined;

export interface FirstTokenOptions {
  readonly tokens: TokenStore;
  readonly delivery: FirstTokenDelivery;
  /** Creates a file that is complete and for its owner alone, and replaces none. */
  readonly writeNew: (file: string, text: string) => void;
}

const howToCreate = "Create one: plant-store token create --name NAME --scope operator --scope plants:create";

/** The file for the first token: in the folder, if there is one, or else beside the data file. */
export function firstTokenFile(folder: string | undefined, dataFile: string | undefined): FirstTokenDelivery {
  if (folder !== undefined) return { file: join(resolve(folder), "first-token") };
  return dataFile === undefined ? undefined : { file: `${resolve(dataFile)}.first-token` };
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
  { tokens, delivery, writeNew }: FirstTokenOptions,
  { token, secret }: Minted,
): Promise<FirstToken | undefined> {
  if ((await tokens.all()).length === 0) {
    if (delivery === undefined)
      return { problem: `There is no token yet, and no --token-folder to write one to. ${howToCreate}` };
    // Before the token is stored: a stored token whose secret nobody has would be useless.
    const problem = delivery === "print" ? undefined : writeSecret(delivery.file, secret, writeNew);
    if (problem !== undefined) return { problem };
    await tokens.addFirst(token, creationEntry(token, localOrigin()));
  }

  // Another process may have been first.
  const isOurs = (await tokens.all()).some(({ digest }) => digest === token.digest);
  if (isOurs) return typeof delivery === "object" ? delivery : { secret };
  if (typeof delivery === "object" && holds(delivery.file, secret)) rmSync(delivery.file, { force: true });
  return undefined;
}

/** Writes the secret to its file, and returns the problem if that fails. */
function writeSecret(
  file: string,
  secret: string,
  writeNew: FirstTokenOptions["writeNew"],
): string | undefined {
  try {
    writeNew(file, `${secret}\n`);
    return undefined;
  } catch (error) {
    const exists = codeOf(error) === "EEXIST";
    if (exists && holds(file, secret)) return undefined;
    const reason = exists ? "it exists already" : messageOf(error);
    return `There is no token yet, and the file ${file} cannot be created for one: ${reason}. ${howToCreate}`;
  }
}

function holds(file: string, secret: string): boolean {
  try {
    return readFileSync(file, "utf8") === `${secret}\n`;
  } catch {
    return false;
  }
}
