import { rmSync } from "node:fs";
import { localOrigin } from "./audit.ts";
import { creationEntry, type Minted, mintToken, type TokenStore } from "./tokens.ts";

/** How the first token reaches the operator: printed, in a file, or not at all, with the reason. */
export type FirstToken =
  | { readonly secret: string }
  | { readonly file: string }
  | { readonly problem: string };

/** `print`, the path of a file to write, or undefined if there is neither. */
export type FirstTokenDelivery = "print" | { readonly file: string } | undefined;

const howToCreate = "Create one: plant-store token create --name NAME --scope operator --scope plants:create";

/** Creates the token of a store that has never had one. */
export class FirstTokenIssuer {
  readonly #tokens: TokenStore;
  readonly #delivery: FirstTokenDelivery;
  readonly #writeNew: (file: string, text: string) => void;
  readonly #minted: Minted;
  #written = false;

  /** `writeNew` creates a file that is complete and for its owner alone, and replaces none. */
  constructor(
    tokens: TokenStore,
    delivery: FirstTokenDelivery,
    writeNew: (file: string, text: string) => void,
  ) {
    this.#tokens = tokens;
    this.#delivery = delivery;
    this.#writeNew = writeNew;
    const by = localOrigin();
    const fields = { name: "first", scopes: ["plants:create", "operator"], createdBy: by.actor } as const;
    this.#minted = mintToken({ ...fields, expiresAtMs: undefined, rateLimit: undefined }, Date.now());
  }

  /**
   * Undefined if the store already has a token, even one that another node has just created. May be called again after a
   * failure, whose outcome may be unknown.
   */
  async issue(): Promise<FirstToken | undefined> {
    const delivery = this.#delivery;
    if ((await this.#find()) === "none") {
      if (delivery === undefined)
        return { problem: `There is no token yet, and no --token-folder to write one to. ${howToCreate}` };
      const problem = delivery === "print" ? undefined : this.#write(delivery.file);
      // Another node that uses the same folder may have created both.
      if (problem !== undefined) return (await this.#find()) === "none" ? { problem } : undefined;
      await this.#tokens.addFirst(this.#minted.token, creationEntry(this.#minted.token, localOrigin()));
    }
    const isOurs = (await this.#find()) === "ours";
    if (isOurs) return typeof delivery === "object" ? delivery : { secret: this.#minted.secret };
    if (this.#written && typeof delivery === "object") rmSync(delivery.file, { force: true });
    return undefined;
  }

  async #find(): Promise<"none" | "ours" | "others"> {
    const known = await this.#tokens.all();
    if (known.length === 0) return "none";
    return known.some(({ digest }) => digest === this.#minted.token.digest) ? "ours" : "others";
  }

  /** Before the token is stored: a stored token whose secret nobody has would be useless. */
  #write(file: string): string | undefined {
    if (this.#written) return undefined;
    try {
      this.#writeNew(file, `${this.#minted.secret}\n`);
      this.#written = true;
      return undefined;
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
      const reason = exists ? "it exists already" : (error as Error).message;
      return `There is no token yet, and the file ${file} cannot be created for one: ${reason}. ${howToCreate}`;
    }
  }
}
