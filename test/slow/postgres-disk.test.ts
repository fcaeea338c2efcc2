import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { eventually, post, startTestService } from "../harness.ts";
import { lacks } from "../lacks.ts";
import { canMount, startPostgres } from "../postgres.ts";

test.skipIf(lacks("the right to mount a disk", !canMount))(
  "a full disk of PostgreSQL is answered with 50302 and loses nothing, and the service recovers when there is space",
  async () => {
    await using small = await startPostgres({ smallDiskMb: 24 });
    await small.run(`CREATE TABLESPACE small LOCATION '${small.folder}/small'`);
    await small.run("CREATE DATABASE plants TABLESPACE small");
    const database = `postgres://postgres@127.0.0.1:${small.port}/plants`;
    await using running = await startTestService({}, database);
    const filler = `/proc/${small.postmaster().pid}/root${small.folder}/small/filler`;
    writeFileSync(filler, Buffer.alloc(12 * 1024 * 1024));
    const acknowledged: number[] = [];
    let id = 0;
    const createLarge = async () => {
      id++;
      // Random, so that it cannot be compressed.
      const name = `${id} ${randomBytes(3000).toString("hex")}`;
      const { status } = await post(running.url, JSON.stringify({ id, name }));
      if (status === 200) acknowledged.push(id);
      return status;
    };
    await eventually(async () => (await createLarge()) === 503, "the disk to be full");
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(running.logged.join("")).toContain("No space left on device");
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    rmSync(filler);
    await eventually(async () => (await createLarge()) === 200, "the service to recover");
    const stored = new Set((await small.stored(database)).map((plant) => Number(plant.id)));
    expect(acknowledged.filter((one) => !stored.has(one))).toEqual([]);
  },
);
