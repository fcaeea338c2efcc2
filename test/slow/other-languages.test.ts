// The examples in Python and Go: they retry, and an id beyond 2^53 stays exact.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { start } from "../support/command.ts";
import { lacksProgram } from "../support/lacks.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

const examples = join(import.meta.dir, "../../examples");
const programs = { "python/one_plant.py": "python3", "go/one_plant.go": "go" };

for (const [file, program] of Object.entries(programs))
  test.skipIf(lacksProgram(program))(`${file} retries, and an id beyond 2^53 stays exact`, async () => {
    using folder = temporaryFolder();
    await using service = await startTestService();
    const sent: string[] = [];
    // Passes requests to the service, except the first, whose connection it breaks, and the second.
    await using proxy = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      sent.push(body);
      if (sent.length === 1) {
        request.socket.destroy();
        return;
      }
      if (sent.length === 2) {
        response.writeHead(503, { "Retry-After": "0" }).end("{}");
        return;
      }
      const { authorization = "", "content-type": type = "" } = request.headers;
      const headers = { Authorization: authorization, "Content-Type": type };
      const answer = await fetch(`${service.url}${request.url}`, { method: "POST", headers, body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const [opening = ""] = readFileSync(join(examples, file), "utf8").split("\n");
    const line = /PLANT_STORE_ACCESS_TOKEN=pst_… (.*)$/.exec(opening)?.[1] ?? "none";
    expect(line).toContain(`examples/${file} http://127.0.0.1:3000`);
    const run = (token: string) => {
      const [command = "", ...args] = line.replace("http://127.0.0.1:3000", url).split(" ");
      const environment = {
        // Nothing next to the sources, and no traffic except to loopback.
        PYTHONDONTWRITEBYTECODE: "1",
        GOTMPDIR: folder.path,
        GOPROXY: "off",
        PLANT_STORE_ACCESS_TOKEN: token,
      };
      return start(command, args, { folder: join(examples, ".."), environment }).ended;
    };
    const stored = "Fern is stored as 9007199254740993.\n";
    expect(await run(accessToken)).toEqual({ code: 0, out: stored, err: "" });
    expect(sent).toHaveLength(3);
    expect((await run(accessToken)).out).toBe(stored.replace("is stored", "was stored already"));
    const plant = { id: 9_007_199_254_740_993n, name: "Fern", tag: "indoor" };
    expect(storedPlants(service.database)).toMatchObject([plant]);
    const refused = await run("not-a-token-of-this-store");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("40102");
    expect(sent).toHaveLength(5);
  });
