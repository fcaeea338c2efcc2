import packageFile from "../../package.json" with { type: "json" };
import type { PlantIntake } from "../plants/intake.ts";
import type { PlantArchive, TagCount } from "../plants/plant-archive.ts";
import { type Answer, json } from "./call.ts";

export interface OverviewParts {
  readonly archive: PlantArchive;
  readonly intake: PlantIntake;
  readonly engine: string;
  readonly startedAtMs: number;
}

const minutesShown = 180;
const minuteMs = 60_000;
const rateOverMs = 10_000;
const tagsShown = 10;
// Counting reads the whole index of tags: seldom enough to be a small share of one core, whatever the store's size.
const recountAfterMs = 30_000;
const recountShare = 20;
const firstCountWaitMs = 150;

export function overview({ archive, intake, engine, startedAtMs }: OverviewParts): Answer {
  const tags = new TagCounts(archive);
  return async () => {
    const nowMs = Date.now();
    const fromMs = (Math.floor(nowMs / minuteMs) + 1 - minutesShown) * minuteMs;
    const [total, creates, [recent = 0], diskUsage, ready, topTags] = await Promise.all([
      archive.total(),
      archive.createdPerMinute(fromMs, minutesShown),
      archive.createdPerMinute(nowMs - rateOverMs, 1),
      archive.diskUsage(),
      intake.ready(),
      tags.now(nowMs),
    ]);
    return json({
      total: String(total),
      perMinute: { from: new Date(fromMs).toISOString(), creates },
      ratePerSecond: recent / (rateOverMs / 1000),
      topTags,
      store: { engine, ready, ...diskUsage },
      version: packageFile.version,
      startedAt: new Date(startedAtMs).toISOString(),
    });
  };
}

interface Counted {
  readonly countedAt: string;
  readonly tags: readonly { readonly tag: string; readonly plants: string }[];
}

/** The most used tags as they were a moment ago: nobody waits for a count of millions. */
class TagCounts {
  readonly #archive: PlantArchive;
  #counted: Counted | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  async now(nowMs: number): Promise<Counted | undefined> {
    if (this.#counting === undefined && nowMs >= this.#dueMs) this.#counting = this.#count();
    if (this.#counted === undefined) await Promise.race([this.#counting, Bun.sleep(firstCountWaitMs)]);
    return this.#counted;
  }

  async #count(): Promise<void> {
    const startMs = Date.now();
    try {
      this.#counted = shownCounts(await this.#archive.topTags(tagsShown), startMs);
    } catch {
      // The figures beside it come from the same store, and tell of it.
    }
    const tookMs = Date.now() - startMs;
    this.#dueMs = Date.now() + Math.max(recountAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}

function shownCounts(tags: readonly TagCount[], countedAtMs: number): Counted {
  return {
    countedAt: new Date(countedAtMs).toISOString(),
    tags: tags.map(({ tag, plants }) => ({ tag, plants: String(plants) })),
  };
}
