import { useEffect, useState } from "preact/hooks";
import { count } from "../format.ts";
import { useSurroundings } from "../session.ts";

const countUpMs = 450;

/** The number of plants, counting up as they arrive. */
export function LiveTotal({ known }: { readonly known: number }) {
  const { feed } = useSurroundings();
  const [total, setTotal] = useState(known);
  useEffect(() => setTotal((before) => Math.max(before, known)), [known]);
  useEffect(() => feed.listen({ news: (news) => setTotal(Number(news.total)) }), [feed]);
  const shown = useCountUp(total);
  return (
    <>
      <p class="number">
        <span aria-hidden="true">{count(shown)}</span>
        <span class="unseen">{count(total)}</span>
      </p>
      <p class="note">Each of them is on disk</p>
    </>
  );
}

function useCountUp(target: number): number {
  const [shown, setShown] = useState(target);
  useEffect(() => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setShown(target);
    const from = shown;
    const startMs = performance.now();
    let frame = requestAnimationFrame(function step(nowMs) {
      const part = Math.min((nowMs - startMs) / countUpMs, 1);
      setShown(Math.round(from + (target - from) * part));
      if (part < 1) frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [target]);
  return shown;
}
