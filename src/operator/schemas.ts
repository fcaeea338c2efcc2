import { scopes as scopeNames } from "../access/scopes.ts";
import { exportFormatNames } from "../files/export-formats.ts";
import { fileFormats } from "../files/read-rows.ts";
import { closedObject, count, list, object, ref, string, time } from "./schema-parts.ts";
import { serviceSchemas } from "./service-schemas.ts";

const scopes = { type: "array", items: { type: "string", enum: scopeNames } };
const alsoPreset = string(
  "The preset token with the same secret, where there is one. It still works, with its own scope.",
);

const storedPlant = {
  id: string("Its id, a decimal int64."),
  name: string("Its name."),
  tag: string("Its tag, where it has one."),
  createdAt: time("When it was stored."),
  createdBy: string("The name of the token that sent it."),
};

/** Every schema that the operator API's document refers to. */
export const schemas = {
  ...serviceSchemas,
  StoredPlant: object(storedPlant, ["tag"]),
  PlantPage: object(
    {
      plants: list("StoredPlant"),
      next: string("The cursor of the next page; absent at the end."),
      searched: count("How many plants were searched."),
    },
    ["next"],
  ),
  MatchCount: object(
    {
      plants: string("How many plants match, of those counted."),
      next: string("The cursor to continue from; absent at the end."),
    },
    ["next"],
  ),
  NewPlants: object({
    plants: list("StoredPlant"),
    more: count("How many further plants were stored at the same time."),
    total: string("How many plants are stored now."),
  }),
  ExportRequest: closedObject(
    {
      format: { type: "string", enum: exportFormatNames },
      id: string("As the parameters of listPlants."),
      tag: { type: "string" },
      name: { type: "string" },
      token: { type: "string" },
      since: { type: "string", format: "date-time" },
      until: { type: "string", format: "date-time" },
    },
    ["format", "id", "tag", "name", "token", "since", "until"],
  ),
  ImportedSlice: object(
    {
      format: { type: "string", enum: fileFormats },
      separator: string("What separates the columns of a CSV file."),
      header: string("The header of a CSV file, in base64."),
      consumed: count("How many bytes of the slice were consumed, without the header before it."),
      cursor: string("For the next slice, which starts after these bytes."),
      done: { type: "boolean", description: "Whether the end of the file is reached." },
      outcomes: list("RowOutcome"),
    },
    ["separator", "header"],
  ),
  RowOutcome: object(
    {
      result: { type: "string", enum: ["created", "replayed", "refused"] },
      first: count(
        "The first of consecutive rows with this result, by line or, in a JSON array, by element.",
      ),
      last: count("The last of them."),
      line: count("Where a refused row starts."),
      element: count("Which element of a JSON array it is."),
      error: count("Why it was refused, as POST /plants numbers it; absent where it could not be read."),
      message: string("Why it was refused."),
      row: string("Its bytes in base64; absent where it is too long."),
    },
    ["first", "last", "line", "element", "error", "message", "row"],
  ),
  ExportLink: object({ url: string("The path to download from.") }),
  Caller: object(
    {
      name: string("The token's name."),
      scopes,
      expiresAt: time("When it expires."),
      publicUrl: string("Where clients create plants, without a slash at the end."),
    },
    ["expiresAt"],
  ),
  IdentityProvider: object(
    {
      issuer: string("The issuer of its tokens."),
      clientId: string("The console's client there."),
      audience: string("The audience to request tokens for."),
      scope: string("The scopes to request, separated by spaces."),
      authorizationEndpoint: string("Where to sign in; absent while the provider is unreachable."),
      tokenEndpoint: string("Where to exchange the code; absent while the provider is unreachable."),
    },
    ["issuer", "clientId", "audience", "scope", "authorizationEndpoint", "tokenEndpoint"],
  ),
  Token: object(
    {
      id: string("Short and public."),
      name: string("Who holds it."),
      scopes,
      createdAt: time("When it was created."),
      expiresAt: time("When it expires; absent where it never does."),
      revokedAt: time("When it was revoked."),
      createdBy: string("Who created it; absent where that was not stored."),
      lastUsedAt: time("When it was last used, to the minute."),
      rateLimit: string(
        "Creates allowed for it, such as 100/s; absent where the service's own limit applies.",
      ),
      state: { type: "string", enum: ["live", "expired", "revoked"] },
    },
    ["expiresAt", "revokedAt", "createdBy", "lastUsedAt", "rateLimit"],
  ),
  Tokens: object({ tokens: list("Token") }),
  TokenAnswer: object({ token: ref("Token"), alsoPreset }, ["alsoPreset"]),
  TokenRequest: closedObject(
    {
      name: string("Who will hold it."),
      scopes,
      expiresIn: string(
        "When it expires, such as 90d from now, not after the caller's own token. Where this is absent, it expires with that one, or never.",
      ),
      rateLimit: string("Creates allowed for it, such as 100/s, in place of the service's own limit."),
    },
    ["scopes", "expiresIn", "rateLimit"],
  ),
  AuditPage: object(
    { entries: list("AuditEntry"), next: string("The cursor of the next page; absent at the end.") },
    ["next"],
  ),
  AuditEntry: object(
    {
      at: time("When it happened."),
      actor: string(
        "Who did it: the name of a token, `oidc:` and the name of a caller, or `os:` and the user of a command line.",
      ),
      action: string("What was done, such as `token.created`."),
      subject: string("What it was done to, such as the name of a token."),
      address: string("The address it was done from; absent for the command line."),
      detail: string("One line, without secrets."),
    },
    ["address"],
  ),
  RotateRequest: closedObject(
    { overlap: string("How long the old secret remains valid, such as 24h; 1h where absent.") },
    ["overlap"],
  ),
  Minted: object(
    {
      token: ref("Token"),
      secret: string("Shown once."),
      oldUntil: time("Until when the old secret is valid."),
      alsoPreset,
    },
    ["oldUntil", "alsoPreset"],
  ),
};
