import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { readChoice, readQuery, textParameter } from "./parameters.ts";

const hourMs = 3_600_000;
const spans = { day: 24, week: 168 } as const;
const spanNames = ["day", "week"] as const;
type Span = (typeof spanNames)[number];
// Counting an hour of PostgreSQL reads its plants: rarely enough to use a small share of the server, whatever its size.
const recountAfterMs = 30_000;
const recountShare = 20;

const parameters = [textParameter("span", "How far back.", { enum: spanNames, default: "day" })];

interface History {
  readonly from: string;
  readonly bucketSeconds: number;
  readonly creates: readonly number[];
}

export const history: Route<{ readonly archive: PlantArchive }> = {
  method: "GET",
  path: "/api/history",
  scope: "operator:read",
  operation: {
    operationId: "history",
    tags: ["plants"],
    summary:
      "Plants stored in each hour of the last day or week. It is counted from what is stored, so a restart loses nothing.",
    parameters,
    success: {
      status: 200,
      description: "The counts, at most a minute old.",
      content: jsonContent("History"),
    },
  },
  handler({ archive }) {
    const counts = { day: new HourCounts(archive, spans.day), week: new HourCounts(archive, spans.week) };
    return async (exchange) => {
      const span: Span = readChoice(readQuery(exchange.query, parameters), "span", spanNames) ?? "day";
      exchange.json(await counts[span].latest());
    };
  },
};

/** The counts of the last hours. Everyone who asks within half a minute gets the same ones. */
class HourCounts {
  readonly #archive: PlantArchive;
  readonly #hours: number;
  #counted: Promise<History> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(archive: PlantArchive, hours: number) {
    this.#archive = archive;
    this.#hours = hours;
  }

  latest(): Promise<History> {
    if (this.#counted !== undefined && performance.now() < this.#dueMs) return this.#counted;
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#counted = this.#count();
    this.#counted.catch(() => {
      this.#counted = undefined;
    });
    return this.#counted;
  }

  async #count(): Promise<History> {
    const startMs = performance.now();
    const fromMs = (Math.floor(Date.now() / hourMs) + 1 - this.#hours) * hourMs;
    const creates = await this.#archive.createdPerHour(fromMs, this.#hours);
    const tookMs = performance.now() - startMs;
    this.#dueMs = performance.now() + Math.max(recountAfterMs, tookMs * recountShare);
    return { from: new Date(fromMs).toISOString(), bucketSeconds: hourMs / 1000, creates };
  }
}
