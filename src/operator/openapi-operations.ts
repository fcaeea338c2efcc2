import type { ErrorKind } from "../http/error-catalogue.ts";

export interface Operation {
  readonly method: "get" | "post";
  readonly path: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly unknown[];
  readonly body?: { readonly schema: string; readonly required: boolean };
  readonly result: { readonly status: number; readonly description: string; readonly content: unknown };
  /** Besides those that every operation can answer with. */
  readonly errors?: readonly ErrorKind[];
  /** Set where no token is needed. */
  readonly open?: true;
}

const text = (name: string, description: string, more: object = {}) => ({
  name,
  in: "query",
  description,
  schema: { type: "string", ...more },
});
const inPath = (name: string, description: string) => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});
const content = (schema: string) => ({
  "application/json": { schema: { $ref: `#/components/schemas/${schema}` } },
});
const rowContent = {
  "application/x-ndjson": { schema: { type: "string" } },
  "text/csv": { schema: { type: "string" } },
};

const filters = [
  text("id", "One plant by its id."),
  text("tag", "Plants with just this tag."),
  text("name", "Plants with this in their name, whatever the case of its letters."),
  text("token", "Plants sent with the token of this name."),
  text("since", "Plants stored at this moment or later.", { format: "date-time" }),
  text("until", "Plants stored before this moment.", { format: "date-time" }),
];
const format = text("format", "The form of the rows.", { enum: ["ndjson", "csv"], default: "ndjson" });
const tokenId = inPath("id", "The token's id.");

/** Every operation of the operator's API. A test holds it to the listener's routes. */
export const operations: readonly Operation[] = [
  {
    method: "get",
    path: "/api/me",
    operationId: "whoAmI",
    tags: ["tokens"],
    summary: "Tells whose token this is.",
    result: { status: 200, description: "The token's holder.", content: content("Caller") },
  },
  {
    method: "get",
    path: "/api/overview",
    operationId: "overview",
    tags: ["plants"],
    summary: "Totals, creates a minute, the most used tags, and how the store is.",
    result: { status: 200, description: "The figures now.", content: content("Overview") },
  },
  {
    method: "get",
    path: "/api/plants",
    operationId: "listPlants",
    tags: ["plants"],
    summary: "Lists plants, the newest first.",
    description:
      "A page may be short, or even empty, and still carry `next`: a search gives back what it found in half a second.",
    parameters: [
      ...filters,
      {
        name: "limit",
        in: "query",
        description: "Plants on a page.",
        schema: { type: "integer", minimum: 1, maximum: 1000, default: 50 },
      },
      text("cursor", "Where the page before ended: its `next`."),
      text("order", "Which come first.", { enum: ["newest", "oldest"], default: "newest" }),
    ],
    result: { status: 200, description: "A page of plants.", content: content("PlantPage") },
  },
  {
    method: "get",
    path: "/api/plants/{id}",
    operationId: "showPlant",
    tags: ["plants"],
    summary: "Shows one plant.",
    parameters: [inPath("id", "The plant's id, a decimal int64.")],
    result: { status: 200, description: "The plant.", content: content("StoredPlant") },
    errors: ["no-such-plant"],
  },
  {
    method: "get",
    path: "/api/feed",
    operationId: "watchPlants",
    tags: ["plants"],
    summary: "Tells of new plants as they come.",
    description: "Server-sent events named `plants`; the data of each is a NewPlants object.",
    result: {
      status: 200,
      description: "Events, until either side ends it.",
      content: { "text/event-stream": { schema: { $ref: "#/components/schemas/NewPlants" } } },
    },
  },
  {
    method: "get",
    path: "/api/export",
    operationId: "exportPlants",
    tags: ["plants"],
    summary: "Streams plants, the oldest first, in a form that import takes back.",
    parameters: [format, ...filters],
    result: { status: 200, description: "A row for each plant.", content: rowContent },
  },
  {
    method: "post",
    path: "/api/exports",
    operationId: "linkToExport",
    tags: ["plants"],
    summary: "Makes a link to an export that a browser can download from, once, within a minute.",
    body: { schema: "ExportRequest", required: false },
    result: { status: 201, description: "The link.", content: content("ExportLink") },
    errors: ["too-busy"],
  },
  {
    method: "get",
    path: "/api/exports/{secret}",
    operationId: "followExport",
    tags: ["plants"],
    summary: "Streams the export that the link stands for.",
    parameters: [inPath("secret", "From the link.")],
    result: { status: 200, description: "A row for each plant.", content: rowContent },
    errors: ["no-such-path"],
    open: true,
  },
  {
    method: "get",
    path: "/api/tokens",
    operationId: "listTokens",
    tags: ["tokens"],
    summary: "Lists the tokens, without their secrets.",
    result: { status: 200, description: "The tokens, the oldest first.", content: content("Tokens") },
  },
  {
    method: "post",
    path: "/api/tokens",
    operationId: "createToken",
    tags: ["tokens"],
    summary: "Makes a token. Its secret is in this answer and nowhere else.",
    body: { schema: "TokenRequest", required: true },
    result: { status: 201, description: "The token and its secret.", content: content("Minted") },
  },
  {
    method: "post",
    path: "/api/tokens/{id}/revoke",
    operationId: "revokeToken",
    tags: ["tokens"],
    summary: "Ends a token; every node knows within a second.",
    parameters: [tokenId],
    result: { status: 200, description: "The token, revoked.", content: content("TokenAnswer") },
    errors: ["no-such-token"],
  },
  {
    method: "post",
    path: "/api/tokens/{id}/rotate",
    operationId: "rotateToken",
    tags: ["tokens"],
    summary: "Gives a token a new secret; the old one lives on for a while.",
    parameters: [tokenId],
    body: { schema: "RotateRequest", required: false },
    result: { status: 201, description: "The new token and its secret.", content: content("Minted") },
    errors: ["no-such-token"],
  },
];
