import { expect, test } from "bun:test";
import { bearer, operatorToken, startTestService } from "./harness.ts";

test("pages run only their own scripts, and no response is cached, guessed at or sets a cookie", async () => {
  await using running = await startTestService();
  const headers = bearer(operatorToken);
  const pages = [`${running.url}/docs`, `${running.operatorUrl}/`, `${running.operatorUrl}/plants`];
  const data = [
    `${running.url}/openapi.json`,
    `${running.operatorUrl}/api/plants`,
    `${running.operatorUrl}/metrics`,
  ];
  for (const url of [...pages, ...data]) {
    const response = await fetch(url, { headers: { ...headers, Accept: "text/html" } });
    expect([url, response.status]).toEqual([url, 200]);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("cache-control")).toContain("no-store");
    expect(response.headers.has("set-cookie")).toBe(false);
    if (!pages.includes(url)) continue;
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  }
});
