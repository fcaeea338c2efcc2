import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { localOrigin } from "./audit.ts";
import { creationEntry, type Minted, mintToken, type TokenStore } from "./tokens.ts";

/** How the first token reaches the operator: printed, in a file, or not at all, with the reason. */
export type FirstToken =
  | { readonly secret: string }
  | { readonly file: string }
  | { readonly problem: string };

/** `print`, the path of a file to write, or undefined if there is neither. */
export type FirstTokenDelivery = "print" | { readonly file: string } | undefined;

/** Creates a file that is complete and for its owner alone, and replaces none. */
export type WriteNew = (file: string, text: string) => void;

const howToCreate = "Create one: plant-store token create --name NAME --scope operator --scope plants:create";

/** In the folder, if there is one, or else beside the data file. */
export function firstTokenFile(folder: string, dataFile: string | undefined): FirstTokenDelivery {
  if (folder !== "") return { file: join(resolve(folder), "first-token") };
  return dataFile === undefined ? undefined : { file: `${resolve(dataFile)}.first-token` };
}

export function mintFirstToken(): Minted {
  const fields = { name: "first", scopes: ["plants:create", "operator"] } as const;
  const createdBy = localOrigin().actor;
  return mintToken({ ...fields, createdBy, expiresAtMs: undefined, rateLimit: undefined }, Date.now());
}

/**
 * Stores the token of a store that has never had one, and delivers it. Undefined if there is a token already, even one that another
 * node has just created. After a failure, whose outcome may be unknown, it may be called again with the same token.
 */
export async function issueFirstToken(
  tokens: TokenStore,
  { token, secret }: Minted,
  delivery: FirstTokenDelivery,
  writeNew: WriteNew,
): Promise<FirstToken | undefined> {
  const isEmpty = async () => (await tokens.all()).length === 0;
  if (await isEmpty()) {
    if (delivery === undefined)
      return { problem: `There is no token yet, and no --token-folder to write one to. ${howToCreate}` };
    // Before the token is stored: a stored token whose secret nobody has would be useless.
    const problem = delivery === "print" ? undefined : write(delivery.file, secret, writeNew);
    // Another node that uses the same folder may have created both.
    if (problem !== undefined) return (await isEmpty()) ? { problem } : undefined;
    await tokens.addFirst(token, creationEntry(token, localOrigin()));
  }
  const isOurs = (await tokens.all()).some(({ digest }) => digest === token.digest);
  if (isOurs) return typeof delivery === "object" ? delivery : { secret };
  if (typeof delivery === "object" && holds(delivery.file, secret)) rmSync(delivery.file, { force: true });
  return undefined;
}

function write(file: string, secret: string, writeNew: WriteNew): string | undefined {
  try {
    writeNew(file, `${secret}\n`);
    return undefined;
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
    if (exists && holds(file, secret)) return undefined;
    const reason = exists ? "it exists already" : (error as Error).message;
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
