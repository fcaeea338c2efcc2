// GET /api/senders: who sends plants, who stopped, and who is refused.
import { expect, test } from "bun:test";
import type { JsonFrom } from "../../src/operator/operator-table.ts";
import { mintToken, operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

test("a sender is listed with its last plant and its refusals, however it sends", async () => {
  await using service = await startTestService();
  const tokenOf = async (name: string, scopes: string[] = ["plants:create"]) =>
    (await mintToken(service, { name, scopes })).secret;
  const listed = async () =>
    (await operatorGet<JsonFrom<"GET /api/senders">>(service, "/api/senders")).senders;
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);

  const greenhouse = bearer(await tokenOf("greenhouse"));
  await post(service.url, '{"id":1,"name":"Fern"}', greenhouse);
  await post(service.url, '{"id":1,"name":"Oak"}', greenhouse);
  await post(service.url, "{", greenhouse);
  await post(service.url, "{", bearer(await tokenOf("refused")));
  await tokenOf("silent");
  const importer = await tokenOf("importer", ["operator:read", "plants:create"]);
  await operatorFetch(service, "/api/imports", {
    token: importer,
    method: "POST",
    body: '{"id":1,"name":"Fern"}\n',
  });

  const senders = await listed();
  const find = (name: string) => senders.find((sender) => sender.name === name);
  expect(find("greenhouse")).toEqual({
    name: "greenhouse",
    lastPlantAt: time,
    refusals: 2,
    lastRefusalAt: time,
  } as never);
  expect(find("refused")).toEqual({ name: "refused", refusals: 1, lastRefusalAt: time } as never);
  // Its plant was stored already.
  expect(find("importer")).toEqual({ name: "importer", lastPlantAt: time, refusals: 0 } as never);
  expect(find("silent")).toEqual({ name: "silent", refusals: 0 } as never);
});
