import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FeedState } from "./feed.ts";
import { Icon, type IconName, Leaf } from "./parts/icons.tsx";
import { Link } from "./parts/link.tsx";
import { ThemeButton } from "./parts/theme.tsx";
import { useRouter } from "./router.ts";
import { useSurroundings } from "./session.ts";

const pages: readonly { readonly href: string; readonly name: string; readonly icon: IconName }[] = [
  { href: "/", name: "Overview", icon: "overview" },
  { href: "/plants", name: "Plants", icon: "plants" },
  { href: "/import", name: "Import", icon: "import" },
  { href: "/tokens", name: "Tokens", icon: "tokens" },
];

const feedWords: Record<FeedState, string> = {
  joining: "Connecting",
  live: "Live",
  broken: "Reconnecting",
};

/** What stands around every page: where one is, where one can go, and who one is. */
export function Frame({ onLeave, children }: { readonly onLeave: () => void; children: ComponentChildren }) {
  const { me, addPlant } = useSurroundings();
  const { path } = useRouter();
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Link href="/" class="brand">
          <Leaf /> Plant Store
        </Link>
        <nav aria-label="Pages">
          {pages.map(({ href, name, icon }) => {
            const here = href === "/" ? path === "/" : path.startsWith(href);
            return (
              <Link key={href} href={href} {...(here ? { "aria-current": "page" as const } : {})}>
                <Icon name={icon} /> {name}
              </Link>
            );
          })}
        </nav>
        <button type="button" class="primary add" onClick={addPlant}>
          <Icon name="plus" /> <span>Add a plant</span>
        </button>
        <div class="account">
          <FeedLight />
          <p class="who" title={`Scopes: ${me.scopes.join(", ")}`}>
            <span class="unseen">Signed in as</span> {me.name}
          </p>
          <ThemeButton />
          <button type="button" class="bare" aria-label="Sign out" title="Sign out" onClick={onLeave}>
            <Icon name="leave" />
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function FeedLight() {
  const { feed } = useSurroundings();
  const [state, setState] = useState(feed.state);
  useEffect(() => {
    setState(feed.state);
    return feed.listen({ changed: setState });
  }, [feed]);
  return (
    <p class={`light ${state}`} title="The live feed of new plants">
      {feedWords[state]}
    </p>
  );
}
