import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Caller } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { overRate } from "../http/refusal.ts";
import { cutText } from "../text/cut-text.ts";
import { minuteMs } from "../text/duration.ts";

const detailCharactersMax = 500;
// 86,400 in a day: fewer than the audit trail keeps, so an entry stays for a day whatever one caller does.
const actionsPerMinuteMax = 60;
const actionLimit = `This token has reached its limit of ${actionsPerMinuteMax} actions per minute that the audit trail records, such as sign-ins, exports, imports and new tokens.`;

/**
 * Records what callers do on the operator listener. The audit trail has the newest 100,000 such entries, so one caller may do
 * only so much per minute: otherwise it could export the store, and then sign in until the entry of the export is gone.
 */
export class ActionRecorder {
  readonly #trail: AuditTrail;
  readonly #rateLimit = new RateLimit({ count: actionsPerMinuteMax, perMs: minuteMs });

  constructor(trail: AuditTrail) {
    this.#trail = trail;
  }

  /**
   * Resolves once the audit trail has the entry. The action must not happen before.
   * @throws Refusal the caller has done too much in the last minute.
   */
  async record(
    { address }: Exchange,
    caller: Caller,
    action: AuditEntry["action"],
    subject: string,
    detail = "",
  ): Promise<void> {
    this.count(caller);
    const storedDetail = cutText(detail, detailCharactersMax);
    const entry = { atMs: Date.now(), actor: caller.name, address, action, subject, detail: storedDetail };
    await this.#trail.record(entry);
  }

  /**
   * Counts an action whose entry the store writes with the change itself.
   * @throws Refusal the caller has done too much in the last minute.
   */
  count({ name }: Caller): void {
    const waitMs = this.#rateLimit.take(name, performance.now());
    if (waitMs > 0) throw overRate(waitMs, actionLimit);
  }
}
